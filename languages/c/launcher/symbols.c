// Looks for `main` in an object file's symbol table.

#include "symbols.h"

#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

// An object file in memory. A program can write sections of any kind into its
// own, so that nothing in it is taken for granted.
struct object {
    const char *bytes;
    size_t size;
};

// The part of the object that begins at `offset`; NULL if it is not there.
static const void *part(struct object object, size_t offset, size_t length) {
    if (offset > object.size || length > object.size - offset)
        return NULL;
    return object.bytes + offset;
}

static bool is_main(const ElfW(Sym) * symbol, const char *names, size_t size) {
    static const char name[] = "main";
    // The binding has the same place in both classes of ELF.
    return ELF64_ST_BIND(symbol->st_info) == STB_GLOBAL
           && symbol->st_shndx != SHN_UNDEF && symbol->st_name < size
           && size - symbol->st_name >= sizeof name
           && memcmp(names + symbol->st_name, name, sizeof name) == 0;
}

static bool in_symbol_table(struct object object, const ElfW(Shdr) * table,
                            const ElfW(Shdr) * strings) {
    const char *names = part(object, strings->sh_offset, strings->sh_size);
    const ElfW(Sym) *symbols = part(object, table->sh_offset, table->sh_size);
    if (names == NULL || symbols == NULL)
        return false;
    size_t count = table->sh_size / sizeof *symbols;
    for (size_t i = 0; i < count; i++)
        if (is_main(&symbols[i], names, strings->sh_size))
            return true;
    return false;
}

static bool in_sections(struct object object) {
    const ElfW(Ehdr) *header = part(object, 0, sizeof *header);
    if (header == NULL)
        return false;
    size_t count = header->e_shnum;
    const ElfW(Shdr) *sections =
        part(object, header->e_shoff, count * sizeof *sections);
    if (sections == NULL)
        return false;
    for (size_t i = 0; i < count; i++)
        if (sections[i].sh_type == SHT_SYMTAB && sections[i].sh_link < count
            && in_symbol_table(object, &sections[i],
                               &sections[sections[i].sh_link]))
            return true;
    return false;
}

bool defines_main(const char *object) {
    int file = open(object, O_RDONLY | O_CLOEXEC);
    struct stat status;
    if (file < 0 || fstat(file, &status) != 0)
        return false;
    size_t size = (size_t)status.st_size;
    char *bytes = mmap(NULL, size, PROT_READ, MAP_PRIVATE, file, 0);
    close(file);
    if (bytes == MAP_FAILED)
        return false;
    bool found = in_sections((struct object){bytes, size});
    munmap(bytes, size);
    return found;
}
