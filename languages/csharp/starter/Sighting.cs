// A bird that was seen, and the time.
namespace Birds;

public record Sighting(string Species, int Count, TimeOnly Time);

public static class Log
{
    public static async Task<Sighting> EarliestAsync(IEnumerable<Sighting> sightings)
    {
        await Task.Delay(10);
        return sightings.MinBy(sighting => sighting.Time)!;
    }
}
