#!lua name=sandpiper_catalogue3
-- The catalogue of products that several Sandpipers share, as functions of Valkey.
-- If its code changes, the library and all its functions get the next number:
-- rate_limits.lua has the reason.
--
-- The keys of every function but `open`, in this order:
local PRODUCTS = 1 -- hash: id -> text, which is the JSON of an answer
local CHANGES = 2  -- sorted set: id -> number of its last change, removal included
local STATE = 3    -- hash: epoch, last_id, used bytes, changes, forgotten
local REMOVED = 4  -- sorted set: the part of CHANGES that is removals
local DONE = 5     -- hash of one request: its answer, the words of its tries

-- The same as in the store of a single Sandpiper, so that both are full at once.
local PRODUCT_BYTES = 128
-- Removals that a mirror can catch up with. It begins anew beyond them.
local MAX_REMOVED = 10000
-- The tries of one request that change the catalogue once. If there are more, its id
-- was given to several requests.
local MAX_TRIES = 4
local DONE_MS = 120000
-- A page of changes ends with the first product beyond one of these.
local MAX_CHANGES, MAX_BYTES = 512, 262144

-- The functions of the server are not there yet while it loads this text.
local function call(...) return server.call(...) end
-- Lua writes large numbers with an exponent.
local function digits(number) return string.format('%.0f', number) end

local function state(keys, field)
  return tonumber(call('HGET', keys[STATE], field) or '0')
end

-- Memory of a product and its part of a list.
local function cost(text) return text and 2 * #text + PRODUCT_BYTES or 0 end

-- Whether there is room for `text` in place of `before`. A full store takes a
-- smaller text in place of a larger one.
local function fits(keys, text, before, capacity)
  local more = cost(text) - cost(before)
  return more <= 0 or state(keys, 'used') + more <= tonumber(capacity)
end

-- Changes the bytes in use by this number. Returns the number of this change.
local function account(keys, id, bytes)
  call('HINCRBY', keys[STATE], 'used', digits(bytes))
  local change = call('HINCRBY', keys[STATE], 'changes', 1)
  call('ZADD', keys[CHANGES], change, id)
  return change
end

-- Does `work` for the first try of a request. Further tries get its answer. Each has
-- a word `try` of its own, with which a Sandpiper also asks again if it got no
-- answer. An answer up to 0 says that nothing was done, so it is not kept.
local function once(keys, try, work)
  local answer = call('HGET', keys[DONE], 'answer')
  if answer then
    local tries = call('HGET', keys[DONE], 'tries') or ''
    if string.find(tries, try, 1, true) then return tonumber(answer) end
    if #tries < MAX_TRIES * #try then
      call('HSET', keys[DONE], 'tries', tries .. try)
      return tonumber(answer)
    end
    call('HDEL', keys[DONE], 'answer')
  end
  answer = work()
  if answer > 0 then
    call('HSET', keys[DONE], 'answer', answer, 'tries', try)
    call('PEXPIRE', keys[DONE], DONE_MS)
  end
  return answer
end

-- Adds a product. Arguments: try, capacity in bytes, the text behind the id. Returns
-- its id, or 0 if there is no room, which uses up no id.
local function create(keys, arguments)
  return once(keys, arguments[1], function()
    local id = digits(state(keys, 'last_id') + 1)
    local text = '{"id":' .. id .. arguments[3]
    if not fits(keys, text, false, arguments[2]) then return 0 end
    call('HSET', keys[STATE], 'last_id', id)
    call('HSET', keys[PRODUCTS], id, text)
    account(keys, id, cost(text))
    return tonumber(id)
  end)
end

-- Arguments: try, capacity in bytes, id, text. Returns 1, 0 if no product has the id,
-- or -1 if there is no room.
local function replace(keys, arguments)
  return once(keys, arguments[1], function()
    local capacity, id, text = arguments[2], arguments[3], arguments[4]
    local before = call('HGET', keys[PRODUCTS], id)
    if not before then return 0 end
    if not fits(keys, text, before, capacity) then return -1 end
    call('HSET', keys[PRODUCTS], id, text)
    account(keys, id, cost(text) - cost(before))
    return 1
  end)
end

-- Arguments: try, id. Returns 1, or 0 if no product has it.
local function remove(keys, arguments)
  return once(keys, arguments[1], function()
    local id = arguments[2]
    local before = call('HGET', keys[PRODUCTS], id)
    if not before then return 0 end
    call('HDEL', keys[PRODUCTS], id)
    call('ZADD', keys[REMOVED], account(keys, id, -cost(before)), id)
    if call('ZCARD', keys[REMOVED]) > MAX_REMOVED then
      local oldest = call('ZRANGE', keys[REMOVED], 0, 0, 'WITHSCORES')
      call('ZREM', keys[REMOVED], oldest[1])
      call('ZREM', keys[CHANGES], oldest[1])
      call('HSET', keys[STATE], 'forgotten', oldest[2])
    end
    return 1
  end)
end

-- Arguments: id. Returns the text, or nil if no product has the id. If another hash
-- is its only key, it returns a field of that, such as the answer in DONE.
local function get(keys, arguments)
  return call('HGET', keys[PRODUCTS], arguments[1])
end

-- Arguments: the first three values of the answer before, or '', 0 and 0.
-- Returns the epoch, the number of the last change here, the number of the last
-- change when the mirror began, 1 if there are more, and 1 if the mirror must
-- first forget all that it has. Then come ids and texts, nil for a removed one.
local function changes(keys, arguments)
  local epoch = call('HGET', keys[STATE], 'epoch') or ''
  local last = state(keys, 'changes')
  local from, began = tonumber(arguments[2]), tonumber(arguments[3])
  -- A mirror has no product whose removal was forgotten when it began.
  local lacks = math.max(from, began) < state(keys, 'forgotten')
  local anew = epoch ~= arguments[1] or from > last or lacks
  if anew then from, began = 0, last end
  local found = call('ZRANGE', keys[CHANGES], '(' .. digits(from), '+inf',
    'BYSCORE', 'LIMIT', 0, MAX_CHANGES, 'WITHSCORES')
  local answer = { epoch, digits(last), digits(began), 0, anew and 1 or 0 }
  local bytes = 0
  for i = 1, #found, 2 do
    local text = call('HGET', keys[PRODUCTS], found[i])
    answer[#answer + 1] = found[i]
    answer[#answer + 1] = text
    bytes = bytes + (text and #text or 0)
    if bytes > MAX_BYTES or i == 2 * MAX_CHANGES - 1 then
      local reached = tonumber(found[i + 1])
      answer[2] = digits(reached)
      answer[4] = reached < last and 1 or 0
      break
    end
  end
  return answer
end

-- The key is that of the state. Argument: an epoch to use if there is none. Returns
-- the epoch of this catalogue. An empty one has had another.
local function open(keys, arguments)
  local epoch = call('HGET', keys[1], 'epoch')
  if epoch then return epoch end
  call('HSET', keys[1], 'epoch', arguments[1])
  return arguments[1]
end

server.register_function('sp3_create', create)
server.register_function('sp3_replace', replace)
-- If memory is used up, these still work: removing a product frees some.
server.register_function{function_name = 'sp3_catalogue_open', callback = open, flags = {'allow-oom'}}
server.register_function{function_name = 'sp3_remove', callback = remove, flags = {'allow-oom'}}
server.register_function{function_name = 'sp3_get', callback = get, flags = {'no-writes'}}
server.register_function{function_name = 'sp3_changes', callback = changes, flags = {'no-writes'}}
