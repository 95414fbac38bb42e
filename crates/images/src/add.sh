# The build script of an image to which an operator adds packages of pip or npm:
# the recipe's own script, and then the packages of the lock. Nothing of them runs
# while they are installed: pip takes wheels alone, and npm starts no scripts.
if [ -f recipe.sh ]; then
    sh -eu ./recipe.sh
fi
cd addition
if [ -f pip.txt ]; then
    echo '==> adding packages of pip'
    pip install --quiet --break-system-packages --no-deps \
        --only-binary :all: --require-hashes -r pip.txt
fi
if [ -f package-lock.json ]; then
    echo '==> adding packages of npm'
    . ./npm.sh
    npm ci --ignore-scripts --omit=dev --loglevel=error
    # Node looks for packages in each folder above a file.
    mkdir -p /node_modules
    cp -a node_modules/. /node_modules
fi
