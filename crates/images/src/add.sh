# The build script of an image to which an operator adds packages of pip or npm:
# the packages of the lock, and then the recipe's own script, after which names of
# hosts may have no addresses any more. The packages go into an archive, which is
# unpacked when every program of the build has ended. So none of their code runs as
# root of the image: no .pth file, which each Python runs, and no module or library in
# place of another. pip takes wheels alone, and npm starts no scripts.
(
    cd addition
    mkdir root
    if [ -f pip.txt ]; then
        echo '==> adding packages of pip'
        pip install --quiet --break-system-packages --no-deps --root "$PWD/root" \
            --only-binary :all: --require-hashes -r pip.txt
    fi
    if [ -f package-lock.json ]; then
        echo '==> adding packages of npm'
        . ./npm.sh
        npm ci --ignore-scripts --omit=dev --loglevel=error
        # Node looks for packages in each folder above a file.
        mv node_modules root/
    fi
    tar --create --file=/build/addition.tar --directory=root .
)
if [ -f recipe.sh ]; then
    sh -eu ./recipe.sh
fi
