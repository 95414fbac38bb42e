# Builds the launcher of Go inside the image, and puts the compiled standard
# library beside it.
own=/opt/sandpiper/go
export PATH=/usr/lib/go-1.24/bin:$PATH GOCACHE=$PWD/cache CGO_ENABLED=0
export GOFLAGS=-trimpath GO111MODULE=off GOTOOLCHAIN=local
mkdir -p $own/packages
ln -s "$(go env GOTOOLDIR)/compile" "$(go env GOTOOLDIR)/link" $own

echo '==> compiling the standard library'
go list -export -f '{{if .Export}}{{.ImportPath}} {{.Export}}{{end}}' std >exported
number=0
while read -r name archive; do
    number=$((number + 1))
    cp "$archive" $own/packages/$number.a
    echo "packagefile $name=$own/packages/$number.a"
done <exported >$own/importcfg

cd launcher
go build -ldflags='-s -w' -o $own/build embed.go main.go packages.go
