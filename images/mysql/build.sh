# Builds the launcher of MySQL inside the image, and the data folder that every
# run starts with.
compile() {
    gcc -O2 -s -Wall -Wextra -Werror "$@"
}
compile -static -o /opt/sandpiper/mysql mysql.c server.c template.c
compile -o pack pack.c
compile -shared -fPIC -o /opt/sandpiper/startup.so startup.c
compile -shared -fPIC -o /opt/sandpiper/reserve.so reserve.c
compile -shared -fPIC -o /opt/sandpiper/submission.so submission.c \
    confine.c results.c packets.c statement.c json.c
cp mysqld.cnf /opt/sandpiper/mysqld.cnf

server() {
    mysqld --defaults-file=/opt/sandpiper/mysqld.cnf --user=root "$@" \
        2>>server.log
}
client() {
    mysql --no-defaults --socket=/tmp/mysql/socket "$@"
}
failed() {
    cat server.log
    # It would keep the builder waiting.
    kill -KILL "$(cat /tmp/mysql/pid)"
}
trap failed EXIT
mkdir /tmp/mysql
server --initialize-insecure
# To the end when it stops: a run then has nothing to purge or to recover.
server --innodb-fast-shutdown=0 &
until client --execute='DO 0' 2>/dev/null; do
    kill -0 "$!"
    sleep 0.1
done
# CONVERT_TZ knows the world's time zones.
mysql_tzinfo_to_sql /usr/share/zoneinfo 2>/dev/null | client mysql
client <accounts.sql
kill "$(cat /tmp/mysql/pid)"
wait "$!"

# Files that the server makes anew.
rm -rf /tmp/mysql/data/'#innodb_redo'/*_tmp /tmp/mysql/data/'#innodb_temp' \
    /tmp/mysql/data/ibtmp1 /tmp/mysql/data/*.pem
./pack /tmp/mysql/data /opt/sandpiper/template
rm -rf /tmp/mysql
# No other code can be loaded, and nobody needs the tool any more.
find /usr/lib/mysql/plugin -type f ! -name component_classic_hashing.so -delete
rm /usr/bin/mysql_tzinfo_to_sql
trap - EXIT
