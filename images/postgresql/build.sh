# Builds the launcher of PostgreSQL inside the image, and the data folder that
# every run starts with.
compile() {
    gcc -O2 -s -Wall -Wextra -Werror "$@"
}
compile -static -o /opt/sandpiper/postgresql postgresql.c server.c template.c
compile -shared -fPIC -o /opt/sandpiper/submission.so submission.c
compile -o pack pack.c

# Debian's own cluster.
rm -rf /etc/postgresql /var/lib/postgresql

# The server refuses to be root's.
programs=/usr/lib/postgresql/17/bin
folder=/tmp/postgresql
as_nobody() {
    setpriv --reuid=65534 --regid=65534 --clear-groups "$@"
}
mkdir $folder
chown 65534:65534 $folder
data=$folder/data
# Sorting by code points needs no library; ICU's collations are there by name.
as_nobody $programs/initdb --pgdata=$data --username=sandpiper --auth=trust \
    --encoding=UTF8 --locale=C.UTF-8 --locale-provider=builtin \
    --builtin-locale=C.UTF-8 --text-search-config=english --wal-segsize=1 \
    --no-instructions --no-sync
cat server.conf >>$data/postgresql.conf
as_nobody $programs/pg_ctl --pgdata=$data --log=$folder/log --wait start ||
    { cat $folder/log; exit 1; }
$programs/psql --host=$folder --username=sandpiper --dbname=template1 \
    --no-psqlrc --set=ON_ERROR_STOP=1 --file=accounts.sql
as_nobody $programs/pg_ctl --pgdata=$data --mode=fast --wait stop
# Nobody else connects, and not as another account.
echo 'local all sandbox trust' >$data/pg_hba.conf

rm -f $data/postmaster.opts
./pack $data /opt/sandpiper/template
rm -rf $folder
