# Resolves the packages that an operator adds with pip and npm, in a root
# filesystem with the image's Debian packages. Installs nothing.
cd addition
if [ -f pip.txt ]; then
    echo '==> resolving packages of pip'
    pip install --quiet --break-system-packages --dry-run \
        --only-binary :all: --report /opt/sandpiper/report.json -r pip.txt
fi
if [ -f package.json ]; then
    echo '==> resolving packages of npm'
    . ./npm.sh
    npm install --package-lock-only --ignore-scripts --loglevel=error \
        --omit-lockfile-registry-resolved
    cp package-lock.json /opt/sandpiper/
fi
