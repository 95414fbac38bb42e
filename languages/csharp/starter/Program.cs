// Plans a day of bird watching: records, patterns, LINQ and async.
using Birds;

List<Sighting> sightings =
[
    new("Sandpiper", 12, new TimeOnly(6, 40)),
    new("Heron", 1, new TimeOnly(7, 5)),
    new("Sandpiper", 30, new TimeOnly(8, 15)),
    new("Kingfisher", 2, new TimeOnly(9, 30)),
];

var species =
    from sighting in sightings
    group sighting by sighting.Species into kind
    orderby kind.Sum(s => s.Count) descending
    select (Name: kind.Key, Count: kind.Sum(s => s.Count));

foreach (var (name, count) in species)
{
    string flock = count switch
    {
        1 => "a single bird",
        < 10 => $"{count} birds",
        _ => $"a flock of {count}",
    };
    Console.WriteLine($"{name,-11}{flock}");
}

Sighting first = await Log.EarliestAsync(sightings);
Console.WriteLine($"First seen: {first.Species} at {first.Time}");
