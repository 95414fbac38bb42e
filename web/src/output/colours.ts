// The colours of terminal output, adapted to be readable (WCAG 2.2 AA, 4.5 to 1)
// on the page of either theme, or on their own background.

export interface Colour {
  red: number;
  green: number;
  blue: number;
}

/** The background of the page in each theme, as in styles/theme.css. */
export const PAGES = { light: colour("#ffffff"), dark: colour("#1b1f24") } as const;

const BLACK: Colour = { red: 0, green: 0, blue: 0 };
const WHITE: Colour = { red: 255, green: 255, blue: 255 };
const MIN_CONTRAST = 4.5;

const BASIC = [
  "#24292f #cf222e #116329 #8a5d00 #0969da #8250df #1b7c83 #6e7781",
  "#57606a #e5534b #2da44e #bf8700 #54aeff #a475f9 #3192aa #f0f3f6",
]
  .join(" ")
  .split(" ")
  .map(colour);

/** One of the sixteen named colours. */
export function basic(index: number): Colour {
  return BASIC[index] ?? BLACK;
}

/** One of 256: the named ones, a cube of 216, and 24 greys. */
export function indexed(index: number): Colour {
  if (index < 16) return basic(index);
  if (index >= 232) {
    const grey = 8 + 10 * (Math.min(index, 255) - 232);
    return { red: grey, green: grey, blue: grey };
  }
  const level = (step: number) => (step === 0 ? 0 : 55 + 40 * step);
  const place = index - 16;
  return { red: level(Math.floor(place / 36)), green: level(Math.floor(place / 6) % 6), blue: level(place % 6) };
}

/** `asked`, mixed with black or white until it is readable on `background`. */
export function readable(asked: Colour, background: Colour): Colour {
  if (contrast(asked, background) >= MIN_CONTRAST) return asked;
  const target = contrast(BLACK, background) > contrast(WHITE, background) ? BLACK : WHITE;
  for (let share = 0.1; share < 1; share += 0.1) {
    const mixed = mix(asked, target, share);
    if (contrast(mixed, background) >= MIN_CONTRAST) return mixed;
  }
  return target;
}

/** The colour in CSS. */
export function css({ red, green, blue }: Colour): string {
  return `rgb(${red} ${green} ${blue})`;
}

export function contrast(one: Colour, other: Colour): number {
  const [high = 0, low = 0] = [luminance(one), luminance(other)].sort((a, b) => b - a);
  return (high + 0.05) / (low + 0.05);
}

function colour(hex: string): Colour {
  const value = Number.parseInt(hex.slice(1), 16);
  return { red: value >> 16, green: (value >> 8) & 255, blue: value & 255 };
}

function mix(from: Colour, to: Colour, share: number): Colour {
  const between = (a: number, b: number) => Math.round(a + (b - a) * share);
  return {
    red: between(from.red, to.red),
    green: between(from.green, to.green),
    blue: between(from.blue, to.blue),
  };
}

function luminance({ red, green, blue }: Colour): number {
  const linear = (channel: number) => {
    const part = channel / 255;
    return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
  };
  return 0.2126 * linear(red) + 0.7152 * linear(green) + 0.0722 * linear(blue);
}
