# Puts the .NET runtime, Roslyn and the reference assemblies into the image,
# and builds the launcher of C# with them.
#
# They come from Ubuntu's packages, which are built from Microsoft's sources
# and get its security updates; apt checks them against the archive's key. An
# SDK of Microsoft's that stands in /build is taken instead (see README.md).
release=noble
series=10.0
microsoft=/build/dotnet-sdk.tar.gz
roslyn_files='*/sdk/*/Roslyn/bincore/*.*'

# mmdebstrap knows Ubuntu's archives. It installs nothing: apt downloads in
# its empty folder, with the settings that this image is built with.
fetch_ubuntu() {
    settings=/etc/apt/apt.conf.d/99mmdebstrap
    [ -e "$settings" ] || settings='APT::Install-Recommends "false"'
    mkdir packages
    mmdebstrap --mode=root --variant=custom --format=null \
        --components=main,universe \
        --keyring=/usr/share/keyrings/ubuntu-archive-keyring.gpg \
        --aptopt="$settings" --aptopt='Acquire::Languages "none"' \
        --aptopt='APT::Sandbox::User "root"' \
        --customize-hook='cd /build/packages
            export APT_CONFIG="$MMDEBSTRAP_APT_CONFIG"
            apt-get download $PACKAGES' "$release"
}

unpack_ubuntu() {
    export PACKAGES="dotnet-host-$series dotnet-hostfxr-$series
        dotnet-runtime-$series dotnet-targeting-pack-$series"
    PACKAGES="$PACKAGES dotnet-sdk-$series"
    if ! fetch_ubuntu; then
        echo "cannot fetch .NET from Ubuntu's archive; is it reachable?" >&2
        exit 1
    fi
    for package in packages/*.deb; do
        case $package in
        */dotnet-sdk-*)
            dpkg-deb --fsys-tarfile "$package" |
                tar -x -C unpacked --wildcards "$roslyn_files"
            ;;
        *) dpkg-deb -x "$package" unpacked ;;
        esac
    done
    mv unpacked/usr/lib/dotnet /usr/lib/dotnet
}

unpack_microsoft() {
    mkdir /usr/lib/dotnet
    tar -xzf "$microsoft" -C /usr/lib/dotnet --wildcards "$roslyn_files" \
        './dotnet' './*.txt' './host' './packs/Microsoft.NETCore.App.Ref' \
        './shared/Microsoft.NETCore.App'
}

# The one folder that the pattern names.
only() {
    if [ $# -ne 1 ] || [ ! -d "$1" ]; then
        echo "not the one folder that was expected: $*" >&2
        exit 1
    fi
    echo "$1"
}

mkdir unpacked
if [ -e "$microsoft" ]; then unpack_microsoft; else unpack_ubuntu; fi

cd /usr/lib/dotnet
runtime=$(only "$PWD"/shared/Microsoft.NETCore.App/*)
pack=$(only "$PWD"/packs/Microsoft.NETCore.App.Ref/*)
roslyn=$(only "$PWD"/sdk/*/Roslyn/bincore)
references=$(only "$pack"/ref/net*)

# Debuggers, tracing, other collectors, other languages, documentation.
(cd "$runtime" && rm -f createdump libclrgc*.so libcoreclrtrace*.so libmscor*.so)
find "$roslyn" -mindepth 1 ! -name 'Microsoft.CodeAnalysis.dll' \
    ! -name 'Microsoft.CodeAnalysis.CSharp.dll' ! -name 'csc.*' -delete
rm -f "$references"/*.xml
mkdir /opt/sandpiper/generators
cp "$pack"/analyzers/dotnet/cs/*.dll /opt/sandpiper/generators
rm -rf "$pack/analyzers" "$pack/data"

cd /build
for assembly in "$references"/*.dll "$roslyn"/Microsoft.*.dll; do
    echo "-r:$assembly"
done >references.rsp
/usr/lib/dotnet/dotnet exec "$roslyn/csc.dll" -noconfig -nostdlib -nologo \
    -target:library -optimize -deterministic -langversion:latest -warnaserror \
    -out:/opt/sandpiper/compiler.dll @references.rsp \
    compiler.cs generators.cs sources.cs
gcc -O2 -s -Wall -Wextra -Werror -D_GNU_SOURCE -DRUNTIME="\"$runtime\"" \
    -DROSLYN="\"$roslyn\"" -DREFERENCES="\"$references\"" \
    -o /opt/sandpiper/dotnet dotnet.c
