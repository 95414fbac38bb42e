# Checks the types of a submission, and leaves its JavaScript in /artifacts. The
# compiler has its messages on standard output.
#
# usage: check.sh ENTRY, in the folder of the submission

# To the compiler -x is an option, and @x a file of options.
case $1 in -* | @*) set -- "./$1" ;; esac
exec /opt/sandpiper/typescript/lib/tsc --ignoreConfig --pretty false --strict \
    --target es2024 --lib esnext --module preserve --moduleResolution bundler \
    --allowImportingTsExtensions --rewriteRelativeImportExtensions \
    --resolveJsonModule --skipLibCheck \
    --typeRoots /opt/sandpiper/typescript/node_modules/@types --types node \
    --noEmitOnError --inlineSourceMap --rootDir . --outDir /artifacts \
    "$1" >&2
