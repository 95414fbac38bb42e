# Makes locales that programs ask for by name; C.UTF-8 stays the default. Folders,
# unlike an archive, are not looked at by programs that do not ask.
for name in de_DE en_US es_ES fr_FR; do
    localedef --no-archive -i $name -f UTF-8 $name.UTF-8
done
