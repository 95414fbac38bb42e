# Builds what makes one document of a page or an application: Node, esbuild, the
# frameworks as one script each, and the launcher with its snapshots.
. ./npm.sh
echo '==> downloading esbuild, parse5, React, Vue and TypeScript'
npm ci --ignore-scripts --no-audit --no-fund --loglevel=error || {
    echo 'the packages could not be downloaded with npm' >&2
    exit 1
}

echo '==> building the frameworks'
esbuild=$(ls node_modules/@esbuild/*/bin/esbuild)
cp "$esbuild" /opt/sandpiper/esbuild
for name in esbuild parse5 react vue; do
    mkdir -p "/usr/share/doc/$name"
    cp "node_modules/$name"/LICENSE* "/usr/share/doc/$name/copyright"
done
mkdir -p /usr/share/doc/nodejs
cp "$(find wheels -name LICENSE -path '*dist-info*' | head -n 1)" /usr/share/doc/nodejs/copyright
# The parts of the host's settings that name it stay out of the snapshot.
export ESBUILD_BINARY_PATH=/opt/sandpiper/esbuild NODE_NO_WARNINGS=1
NODE_ENV=development node launcher/framework.js
NODE_ENV=development node members.js >/opt/sandpiper/members.json
cp react*.js react.json vue*.js vue.json /opt/sandpiper/

# At which depth the stack overflows differs each time. So Vue's compiler, which goes on
# without what it could not read, must end then: the document may be kept.
compiler=node_modules/@vue/compiler-sfc/dist/compiler-sfc.esm-browser.js
sed -Ei -e 's/\bcatch \((\w+)\) \{/& if (\1 instanceof RangeError) throw \1;/' \
    -e 's/\bcatch \{$/catch (e) { if (e instanceof RangeError) throw e;/' $compiler
if [ "$(grep -c 'instanceof RangeError) throw' $compiler)" -lt 40 ]; then
    echo "Vue's compiler does not catch errors as it did" >&2
    exit 1
fi

strip -o /opt/sandpiper/node "$node/bin/node"
gcc -O2 -s -static -Wall -Wextra -Werror -I. -o /opt/sandpiper/document launcher/document.c
for name in pages applications; do
    "$esbuild" "launcher/$name.js" --bundle --platform=node --format=cjs \
        "--outfile=$name.cjs" --log-level=error \
        --alias:@vue/compiler-sfc=@vue/compiler-sfc/dist/compiler-sfc.esm-browser.js \
        --alias:esbuild=./node_modules/esbuild/lib/main.js
    # esbuild is started in the folder that the snapshot was made in.
    (cd / && /opt/sandpiper/node --snapshot-blob "/opt/sandpiper/$name.snapshot" \
        --build-snapshot "/build/$name.cjs")
done
