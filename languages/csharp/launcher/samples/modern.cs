// Never run: the compiler compiles it to be warm. It has all that programs have,
// in the style of today; classic.cs has the other.
using System.Collections.Concurrent;
using System.Diagnostics;
using System.Globalization;
using System.Numerics;
using System.Text;
using System.Text.Json;
using System.Text.RegularExpressions;
using static System.Math;

var birds = new List<Bird> { new("Heron", 1.5, Kind.Wader), new("Owl", 0.4, Kind.Other) };
birds.Add(new Bird("Sandpiper", 0.05, Kind.Wader) { Rings = ["a1", "b2"] });
int[] numbers = [3, 1, 4, 1, 5, .. Enumerable.Range(1, 5)];
string[] words = "the quick brown fox".Split(' ', StringSplitOptions.RemoveEmptyEntries);
var (least, most) = (numbers.Min(), numbers.Max());
Console.WriteLine($"{least,4} {most:D3} {PI:F2} {Max(1, 2)} {DateTime.UtcNow:yyyy-MM-dd}");
Console.WriteLine("{0} of {1}", args.Length, birds.Count);

var byKind = birds
    .Where(bird => bird.Weight > 0.01 && !string.IsNullOrEmpty(bird.Name))
    .GroupBy(bird => bird.Kind)
    .OrderByDescending(group => group.Count())
    .ThenBy(group => group.Key)
    .ToDictionary(group => group.Key, group => group.Select(bird => bird.Name).ToArray());
foreach (var (kind, names) in byKind)
    Console.WriteLine($"{kind}: {string.Join(", ", names)}");

var heavy =
    from bird in birds
    let pounds = bird.Weight * 2.2
    where pounds > 1
    join word in words on bird.Name.Length equals word.Length into same
    orderby bird.Name descending
    select new { bird.Name, Pounds = pounds, Same = same.FirstOrDefault() ?? "none" };
foreach (var each in heavy.Take(3).Skip(1))
    Console.Write(each.Name + " " + each.Pounds + '\n');

string Describe(object? thing) => thing switch
{
    null => "nothing",
    int n when n < 0 => "negative",
    int and (0 or 1) => "a bit",
    > 100L => "long",
    string { Length: > 3 } text => text[..3] + text[^1],
    Bird { Kind: Kind.Wader, Weight: var weight } => $"wades, {weight}",
    (int x, int y) => $"{x + y}",
    int[] and [1, .., var last] => $"ends in {last}",
    IEnumerable<int> many => many.Sum().ToString(CultureInfo.InvariantCulture),
    _ => thing.ToString() ?? "",
};
Console.WriteLine(Describe(numbers) + Describe(birds[0]) + Describe("text") + Describe(null));

var counts = new Dictionary<string, int>(StringComparer.OrdinalIgnoreCase) { ["one"] = 1 };
foreach (string word in words)
    counts[word] = counts.TryGetValue(word, out int count) ? count + 1 : 1;
counts.Remove("one");
var text = new StringBuilder();
for (int row = 0; row < 3; row++)
{
    for (var column = row; column >= 0; column--)
        text.Append(row * column).Append(column % 2 == 0 ? ' ' : '\t');
    text.AppendLine();
}
while (text.Length > 10)
    text.Length -= 1;
var stack = new Stack<int>();
var queue = new PriorityQueue<string, double>();
var seen = new HashSet<(int, int)> { (0, 0) };
queue.Enqueue("start", 1.0);
do
{
    stack.Push(stack.Count);
    if (!seen.Add((stack.Peek(), 1)))
        continue;
    if (stack.Count > 5)
        break;
} while (queue.TryDequeue(out var next, out _) || stack.Count < 4);

try
{
    await foreach (int number in Numbers.CountAsync(3))
        Console.WriteLine(number);
    string[] lines = await Task.WhenAll(birds.Select(async bird =>
    {
        await Task.Delay(1);
        return bird.Name.ToUpperInvariant();
    }));
    int parsed = int.Parse(Console.ReadLine() ?? "0");
    checked { parsed *= int.MaxValue; }
    if (lines is { Length: 0 } || parsed == 1 || !int.TryParse(lines[0], out _))
        throw new InvalidOperationException("too few", new ArgumentNullException(nameof(lines)));
}
catch (FormatException e) when (e.Message.Contains("input"))
{
    Console.Error.WriteLine(e.Message);
}
catch (Exception e) when (e is OverflowException or InvalidOperationException)
{
    Console.WriteLine($"{e.GetType().Name}: {e.Message}");
    Environment.ExitCode = 2;
}
finally
{
    text.Clear();
}

var clock = Stopwatch.StartNew();
var shared = new ConcurrentDictionary<int, long>();
object door = new();
long sum = 0;
Parallel.For(0, 10, i => shared[i] = Numbers.Factorial(i));
var threads = Enumerable.Range(0, 2).Select(i => new Thread(() =>
{
    lock (door)
        sum += i;
    Interlocked.Increment(ref sum);
})).ToList();
threads.ForEach(thread => thread.Start());
threads.ForEach(thread => thread.Join());
Func<int, Func<int, int>> add = x => y => x + y;
Action<string> print = Console.WriteLine;
print?.Invoke(add(1)(2).ToString());
Span<int> slice = stackalloc int[4];
slice.Fill(7);
ReadOnlySpan<char> letters = "letters".AsSpan(1, 3);
BigInteger big = BigInteger.Pow(2, 100);
string json = JsonSerializer.Serialize(birds);
bool matches = Regex.IsMatch(json, @"^\[\{.*\}\]$");
string raw = $$"""
    {"sum": {{sum}}, "big": "{{big}}"}
    """;
print!($"{raw} {matches} {letters[0]} {slice[0] ^ 3} {clock.ElapsedMilliseconds >= 0}");
using (var reader = new StringReader(raw))
    while (reader.ReadLine() is { } line)
        print(line.Trim().PadLeft(20, '*').Replace('"', '\''));
return numbers.Aggregate(0, (total, number) => total + number) > 0 ? 0 : 1;

enum Kind { Wader, Other = 4 }

record Bird(string Name, double Weight, Kind Kind)
{
    public List<string> Rings { get; init; } = new();
    public static Bird operator +(Bird a, Bird b) => a with { Weight = a.Weight + b.Weight };
}

readonly record struct Point(int X, int Y);

static class Numbers
{
    public static async IAsyncEnumerable<int> CountAsync(int end)
    {
        for (int i = 0; i < end; i++)
        {
            await Task.Yield();
            yield return i;
        }
    }

    public static IEnumerable<T> Every<T>(this IEnumerable<T> all, int step) where T : notnull
    {
        int at = 0;
        foreach (T one in all)
            if (at++ % step == 0)
                yield return one;
    }

    public static long Factorial(int n) => n <= 1 ? 1 : n * Factorial(n - 1);

    public static T Total<T>(params T[] values) where T : INumber<T>
    {
        T total = T.Zero;
        foreach (T value in values)
            total += value;
        return total;
    }
}
