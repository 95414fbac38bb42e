# Puts Node, the native compiler of TypeScript and the types of Node into the
# image.
. ./npm.sh
strip -o /opt/sandpiper/node "$node/bin/node"

echo '==> downloading TypeScript'
npm ci --ignore-scripts --no-audit --no-fund --loglevel=error || {
    echo 'TypeScript could not be downloaded with npm' >&2
    exit 1
}
own=/opt/sandpiper/typescript
mkdir -p $own/lib $own/node_modules/@types
native=$(echo node_modules/@typescript/typescript-linux-*)
cp "$native"/lib/tsc "$native"/lib/lib*.d.ts $own/lib
cp -r node_modules/@types/node $own/node_modules/@types
cp -r node_modules/undici-types $own/node_modules
node -p 'require("typescript/package.json").version' >$own/version

for package in typescript @types/node undici-types; do
    mkdir -p "/usr/share/doc/${package##*/}"
    cp node_modules/$package/LICENSE* "/usr/share/doc/${package##*/}/copyright"
done
mkdir -p /usr/share/doc/nodejs
cp "$(find wheels -name LICENSE -path '*dist-info*' | head -n 1)" /usr/share/doc/nodejs/copyright
