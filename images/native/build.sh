# Builds the launcher of C and C++ inside the image, records what the driver
# would start, and precompiles headers.
. ./locales.sh
own=/opt/sandpiper
gcc -O2 -static -s -D_GNU_SOURCE -Wall -Wextra -Werror -o $own/cc \
    cc.c command.c compile.c diagnostics.c headers.c includes.c sources.c \
    symbols.c text.c
gcc -O2 -Wall -Wextra -Werror -c stdout.c crash.c
# The unwinder is in it: a C program would have to load a library for it. It is
# hidden, since C++ programs have that library.
gcc -r -nostdlib -o $own/program.o stdout.o crash.o -lgcc_eh
objcopy --localize-hidden --strip-unneeded $own/program.o

cat >$own/fixed-time.h <<'END'
#pragma GCC system_header
#undef __TIMESTAMP__
#define __TIMESTAMP__ "Thu Jan  1 00:00:00 1970"
END

# record FILE DRIVER ARGUMENT... writes the last command that the driver would
# start, an argument a line.
record() {
    file=$1
    shift
    line=$("$@" '-###' 2>&1 | sed -n 's/^ //p' | tail -n 1)
    # The driver quotes as a shell does.
    eval "set -- $line"
    program=$(command -v "$1")
    case $program in
        # All that it does for C and C++ is to start the linker.
        */collect2) program=/usr/bin/ld.gold ;;
    esac
    shift
    printf '%s\n' "$program" "$@" >"$file"
}

# prepare LANGUAGE KIND DRIVER STANDARD
prepare() {
    mkdir $own/$1
    # -O1 is without the optimiser's liberties: a division by zero and an
    # endless recursion end as a learner expects.
    flags="$4 -O1 -pthread -iquote . -iquote include -I."
    echo "$flags" >$own/$1/flags
    record $own/$1/compile $3 $flags -x$2 -S SOURCE -o -
    record $own/$1/assemble $3 -c -xassembler - -o OBJECT
    # The linker's plugin is for link-time optimisation.
    record $own/$1/link $3 -fno-use-linker-plugin -pthread OBJECTS \
        $own/program.o -lm -o /artifacts/main
}
prepare c c gcc -std=gnu17
# The last: its flags are those of the headers.
prepare cpp c++ g++ -std=gnu++23

echo "==> precompiling headers"
g++ -O2 -fno-rtti -fPIC -shared -Wall -Wextra -Werror \
    -isystem "$(g++ -print-file-name=plugin)/include" \
    -o instantiate.so instantiate.cc
headers=$own/cpp/headers
mkdir $headers
cp precompiled-headers.txt $headers/list
touch empty.cpp
number=0
while read -r names; do
    number=$((number + 1))
    header=$headers/$number.h
    # Each name is a word.
    printf '#include <%s>\n' $names >$header
    g++ $flags -xc++ -M $header | tr -s ' \\' '\n' | grep '^/usr/' >$header.files
    cp $header whole.h
    echo '#pragma sandpiper instantiate' >>whole.h
    # With line numbers it serves programs with and without them.
    g++ $flags -g1 -fplugin=./instantiate.so -Wall -Werror -xc++-header whole.h \
        -o $header.gch
    # A program includes them again, where they need not be read again:
    # <bits/stdc++.h> takes as long then as all else.
    for name in $names; do
        mkdir -p "$(dirname $headers/$number/$name)"
        : >$headers/$number/$name
    done
    # GCC passes over what does not fit and says so only when asked.
    for lines in -g0 -g1; do
        g++ $flags $lines -Winvalid-pch -Werror -H -include $header -S empty.cpp \
            -o empty.s 2>&1 | grep -qxF "! $header.gch"
    done
done <precompiled-headers.txt
