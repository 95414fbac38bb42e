#!lua name=sandpiper_limits2
-- How often a client may ask, counted for all servers at once by the clock of
-- Valkey. Times are in microseconds. The rules are those of rate_limit/table.rs.
--
-- Sandpipers of two versions call one Valkey during an upgrade, and each loads its
-- own library there. It replaces one of the same name, and cannot have a function
-- that another library has. So if the code here changes, the library gets the next
-- number, and so do all its functions, those that stay the same included. Keys keep
-- theirs, unless the older code would take the newer one's values for its own. The
-- same holds for catalogue.lua. tests/tidy.rs has the hashes of both.

-- The tries of one request that count as one.
local MAX_TRIES = 4
local MAX_EPOCH_AGE_MS = 3600000

-- Numbers of this size would be written as 1.7e+15.
local function digits(number)
  return string.format('%.0f', number)
end

local function now()
  local time = server.call('TIME')
  return tonumber(time[1]) * 1000000 + tonumber(time[2])
end

-- Returns the number of tries before this one, if the request was admitted.
local function tries_before(log, tries, id, lifetime)
  if not server.call('ZSCORE', log, id) then return 0 end
  local before = tonumber(server.call('GET', tries) or '0') + 1
  server.call('SET', tries, before, 'PX', lifetime)
  return before
end

local function record(log, id, at, lifetime)
  -- This clock may have been set back.
  local last = server.call('ZRANGE', log, -1, -1, 'WITHSCORES')[2]
  if last and tonumber(last) > at then at = tonumber(last) end
  server.call('ZADD', log, digits(at), id)
  server.call('PEXPIRE', log, lifetime)
end

-- KEYS: the tries of this request, the log of the client, and that of its prefix if
-- it has one.
-- ARGV: the request's id, the window, 1 to count or 0 to ask, a limit for each log;
-- then the time, if a test sets it.
-- Returns 0 (refused), 1 (admitted) or 2 (admitted before, and not counted again);
-- the requests that would be admitted now; the time until one more is.
local function admit(keys, args)
  local id, window, counts = args[1], tonumber(args[2]), args[3] == '1'
  local at = tonumber(args[3 + #keys]) or now()
  local lifetime = math.ceil(window / 1000) + 1000
  local passes = true
  for i = 2, #keys do
    server.call('ZREMRANGEBYSCORE', keys[i], '-inf', digits(at - window))
    if server.call('ZCARD', keys[i]) >= tonumber(args[2 + i]) then passes = false end
  end
  local verdict = passes and 1 or 0
  local before = counts and tries_before(keys[2], keys[1], id, lifetime)
  if before and before % MAX_TRIES > 0 then
    verdict = 2
  elseif before and passes then
    -- A request that is counted once more needs a name of its own.
    local name = before > 0 and id .. ' ' .. before or id
    for i = 2, #keys do record(keys[i], name, at, lifetime) end
  elseif before and before > 0 then
    -- This try was refused, so the next is to be counted, too.
    server.call('SET', keys[1], before - 1, 'PX', lifetime)
  end
  -- The tighter of the limits counts. If both are equally tight, the one that takes
  -- longer to have room again does.
  local remaining, reset
  for i = 2, #keys do
    local left = math.max(tonumber(args[2 + i]) - server.call('ZCARD', keys[i]), 0)
    local first = server.call('ZRANGE', keys[i], 0, 0, 'WITHSCORES')[2]
    local wait = first and math.max(tonumber(first) + window - at, 0) or 0
    if not remaining or left < remaining or (left == remaining and wait > reset) then
      remaining, reset = left, wait
    end
  end
  return { verdict, remaining, reset }
end

-- KEYS: the key of the epoch. ARGV: an epoch to begin if there is none.
-- Returns the epoch. It is another when the counts were lost.
local function open(keys, args)
  local epoch = server.call('GET', keys[1])
  if epoch then
    server.call('PEXPIRE', keys[1], MAX_EPOCH_AGE_MS)
    return epoch
  end
  server.call('SET', keys[1], args[1], 'PX', MAX_EPOCH_AGE_MS)
  return args[1]
end

-- If memory is used up, a Valkey still answers, but does not count.
server.register_function{function_name = 'sp2_limits_open', callback = open, flags = {'allow-oom'}}
server.register_function('sp2_admit', admit)
