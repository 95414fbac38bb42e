// A plugin of GCC for precompiled headers: `#pragma sandpiper instantiate`
// instantiates the templates that the code above needs. GCC leaves that to the
// end of every program that the header is used in; with the formatting that
// <iostream> has as gnu++23, it takes ten times as long as all else.

#include <gcc-plugin.h>
#include <plugin-version.h>
#include <tree.h>
// After tree.h, on which they depend.
#include <c-family/c-pragma.h>
#include <cp/cp-tree.h>

int plugin_is_GPL_compatible;

namespace {

bool has_needed_table(tree type) {
    for (tree table = CLASSTYPE_VTABLES(type); table; table = DECL_CHAIN(table))
        if (TREE_USED(table))
            return true;
    return false;
}

// Marks the virtual functions of class templates whose tables are needed, as
// the end of a program does when it writes the tables. Whether any is new.
bool mark_virtual_functions() {
    bool is_new = false;
    size_t count = vec_safe_length(keyed_classes);
    for (size_t i = 0; i < count; i++) {
        tree type = (*keyed_classes)[i];
        if (!CLASSTYPE_TEMPLATE_INSTANTIATION(type)
            || CLASSTYPE_INTERFACE_ONLY(type) || !has_needed_table(type))
            continue;
        tree entry = BINFO_VIRTUALS(TYPE_BINFO(type));
        for (; entry; entry = TREE_CHAIN(entry)) {
            tree function = BV_FN(entry);
            if (DECL_ODR_USED(function) || DECL_DELETED_FN(function))
                continue;
            mark_used(function);
            is_new = true;
        }
    }
    return is_new;
}

void instantiate(cpp_reader *) {
    // Else functions that the compiler makes by itself are left to the end.
    at_eof = 1;
    do
        instantiate_pending_templates(0);
    while (mark_virtual_functions());
    at_eof = 0;
}

void register_pragma(void *, void *) {
    c_register_pragma("sandpiper", "instantiate", instantiate);
}

} // namespace

int plugin_init(plugin_name_args *plugin, plugin_gcc_version *version) {
    if (!plugin_default_version_check(version, &gcc_version))
        return 1;
    register_callback(plugin->base_name, PLUGIN_PRAGMAS, register_pragma,
                      nullptr);
    return 0;
}
