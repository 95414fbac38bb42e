// Before all tests: starts the service that they share. It runs the starter of
// every language before it is ready, which is work for seconds.

import { SHARED, start } from "./service";

export default async function setup(): Promise<() => Promise<void>> {
  const { url, stop } = await start([]);
  process.env[SHARED] = url;
  return stop;
}
