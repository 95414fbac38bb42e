// Compresses what was built, once and as small as brotli and gzip can.
import { readFileSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { brotliCompressSync, constants, gzipSync } from "node:zlib";

const dist = join(import.meta.dirname, "dist");
for (const name of readdirSync(dist, { recursive: true })) {
  if (!/\.(js|css|svg)$/.test(name)) continue;
  const content = readFileSync(join(dist, name));
  const options = {
    params: {
      [constants.BROTLI_PARAM_QUALITY]: constants.BROTLI_MAX_QUALITY,
      [constants.BROTLI_PARAM_MODE]: constants.BROTLI_MODE_TEXT,
      [constants.BROTLI_PARAM_SIZE_HINT]: content.length,
    },
  };
  writeFileSync(join(dist, `${name}.br`), brotliCompressSync(content, options));
  writeFileSync(join(dist, `${name}.gz`), gzipSync(content, { level: constants.Z_BEST_COMPRESSION }));
}
