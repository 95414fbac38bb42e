const HOURS = [2, 8, 14, 20];

/** High and low water of a day; `spring` is from 0 to 1. */
export function tides(spring) {
  const swing = 0.8 + spring;
  return HOURS.map((hour, index) => {
    const height = 2 + (index % 2 ? -swing : swing);
    return { hour, height: height.toFixed(1) };
  });
}
