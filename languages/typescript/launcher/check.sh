# Checks the types of a submission, and leaves its JavaScript in /artifacts. The
# compiler has its messages on standard output.
#
# usage: check.sh ENTRY, in the folder of the submission
exec /opt/sandpiper/typescript/lib/tsc --ignoreConfig --pretty false --strict \
    --target es2024 --lib esnext --module preserve --moduleResolution bundler \
    --allowImportingTsExtensions --rewriteRelativeImportExtensions \
    --resolveJsonModule --skipLibCheck \
    --typeRoots /opt/sandpiper/typescript/node_modules/@types --types node \
    --noEmitOnError --inlineSourceMap --rootDir . --outDir /artifacts \
    "$1" >&2
