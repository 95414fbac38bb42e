# Functions for controls that run in an image: servers as a run has them, but
# for the options that a control gives.

# mysql_server OPTION...
mysql_server() {
    # The launcher's own server refuses to be root's, and leaves the data.
    /opt/sandpiper/mysql 3</dev/null >/dev/null 2>&1 || true
    mysqld --defaults-file=/opt/sandpiper/mysqld.cnf --user=root "$@" 2>/tmp/log &
    until mysql_client --execute='DO 0' </dev/null 2>/dev/null; do
        kill -0 $! || { cat /tmp/log; return 1; }
        sleep 0.1
    done
}

# mysql_client OPTION...
mysql_client() {
    /usr/bin/mysql --no-defaults --socket=/tmp/mysql/socket --user=sandbox \
        --database=sandbox "$@"
}

# mongosh_with ENTRY OPTION...: a script, and a server with these options.
mongosh_with() {
    entry=$1
    shift
    mkdir /tmp/data
    mkfifo /tmp/log
    mongod --dbpath /tmp/data --bind_ip 127.0.0.1 "$@" >/tmp/log &
    printf %s "$entry" | node --no-warnings /opt/sandpiper/mongosh/load.js \
        5 4 3<&0 4>/dev/null 5</tmp/log
}
