# Builds the launcher of PHP inside the image.
. ./locales.sh
# PHP's headers are not written for -Wextra: -isystem.
includes=$(php-config8.4 --includes | sed 's/-I/-isystem /g')
gcc -O2 -s -D_GNU_SOURCE -Wall -Wextra -Werror $includes \
    -o /opt/sandpiper/php php.c names.c -lphp8.4

# Each extension that the launcher names is there.
echo '<?php echo implode(" ", get_loaded_extensions());' >check.php
# A file stands for the gate.
printf check.php >entry
loaded=" $(/opt/sandpiper/php 3<entry) "
for name in $(sed -n 's/^ *"extension=\(.*\)\\n";*$/\1/p' php.c); do
    case "$(echo "$loaded" | tr A-Z a-z)" in
    *" $name "*) ;;
    *) echo "the extension $name is missing" >&2; exit 1 ;;
    esac
done
