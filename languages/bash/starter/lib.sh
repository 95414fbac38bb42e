# Prints a line of text, underlined.
title() {
    printf '%s\n' "$1"
    printf '%s\n' "${1//?/-}"
}
