# Counts the words of a text, the most frequent ones first.
source ./lib.sh

text="the wind and the sea and the shore"

declare -A counts
for word in $text; do
    ((counts[$word]++))
done

title "Words"
for word in "${!counts[@]}"; do
    printf '%-6s %d\n' "$word" "${counts[$word]}"
done | sort -k2,2nr -k1,1
