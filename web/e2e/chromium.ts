// Debian's Chromium, as tests start it.

/** Without windows, which cost more than most tests; else the same browser. */
const HEADLESS = "/usr/lib/chromium/chromium-headless-shell";
const WHOLE = "/usr/bin/chromium";

const launch = (executablePath: string, ...more: string[]) => ({
  executablePath,
  args: [
    ...(process.getuid?.() === 0 ? ["--no-sandbox"] : []),
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    // Replaces Playwright's own list, which takes storage away from frames of other sites.
    "--disable-features=Translate",
    ...more,
  ],
});

export const usual = launch(HEADLESS);

/** Each site has its own process, as in browsers that people use; Playwright turns that off. */
export const apart = launch(HEADLESS, "--site-per-process");

/** The full browser, for tests that depend on all of it. */
export const whole = launch(WHOLE, "--site-per-process");
