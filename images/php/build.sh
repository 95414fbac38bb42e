# Builds the launcher of PHP inside the image.
. ./locales.sh
# Debian turns an extension on by a file, in the order in which they need each
# other. Those of an operator's packages are among them. A zend_extension is for
# servers and debuggers.
sed -n 's/^extension=\(.*\)/"extension=\1\\n"/p' /etc/php/8.4/embed/conf.d/*.ini \
    >extensions.h
# PHP's headers are not written for -Wextra: -isystem.
includes=$(php-config8.4 --includes | sed 's/-I/-isystem /g')
gcc -O2 -s -D_GNU_SOURCE -Wall -Wextra -Werror $includes \
    -o /opt/sandpiper/php php.c names.c -lphp8.4

# Each extension loads, or there is a warning.
echo '<?php' >check.php
# A file stands for the gate.
printf check.php >entry
warnings=$(/opt/sandpiper/php 3<entry 2>&1)
if [ -n "$warnings" ]; then
    echo "$warnings" >&2
    exit 1
fi
