// Looks for `main` in an object file's symbol table.

#include "symbols.h"

#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

// The compiler wrote the file a moment ago: it is taken to be well-formed.
static bool in_symbol_table(const char *file, const ElfW(Shdr) * sections,
                            const ElfW(Shdr) * table) {
    const char *names = file + sections[table->sh_link].sh_offset;
    const ElfW(Sym) *symbols = (const void *)(file + table->sh_offset);
    size_t count = table->sh_size / sizeof *symbols;
    for (size_t i = 0; i < count; i++)
        // The binding has the same place in both classes of ELF.
        if (ELF64_ST_BIND(symbols[i].st_info) == STB_GLOBAL
            && symbols[i].st_shndx != SHN_UNDEF
            && strcmp(names + symbols[i].st_name, "main") == 0)
            return true;
    return false;
}

bool defines_main(const char *object) {
    int file = open(object, O_RDONLY | O_CLOEXEC);
    struct stat status;
    if (file < 0 || fstat(file, &status) != 0)
        return false;
    size_t size = (size_t)status.st_size;
    char *text = mmap(NULL, size, PROT_READ, MAP_PRIVATE, file, 0);
    close(file);
    if (text == MAP_FAILED)
        return false;
    const ElfW(Ehdr) *header = (const void *)text;
    const ElfW(Shdr) *sections = (const void *)(text + header->e_shoff);
    bool found = false;
    for (size_t i = 0; i < header->e_shnum && !found; i++)
        found = sections[i].sh_type == SHT_SYMTAB
                && in_symbol_table(text, sections, &sections[i]);
    munmap(text, size);
    return found;
}
