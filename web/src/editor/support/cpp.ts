// The keywords of C and C++, and the functions that first programs use.
import { cppLanguage } from "@codemirror/lang-cpp";

import { offering } from "../completion";

const BOTH =
  "auto bool break case char const continue default do double else enum extern false float for goto if inline int " +
  "long return short signed sizeof static struct switch true typedef union unsigned void volatile while " +
  "include define ifdef ifndef endif size_t int32_t int64_t uint8_t uint32_t uint64_t NULL";
const C = "restrict nullptr register";
const CPP =
  "alignas catch class concept const_cast constexpr consteval constinit co_await co_return co_yield decltype delete " +
  "dynamic_cast explicit export final friend import module mutable namespace new noexcept nullptr operator override " +
  "private protected public reinterpret_cast requires static_assert static_cast template this throw try typename using " +
  "virtual";
const C_NAMES =
  "printf scanf puts getchar putchar fgets fprintf sprintf snprintf sscanf malloc calloc realloc free strlen strcmp " +
  "strcpy strncpy strcat strchr strstr memcpy memset abs sqrt pow rand srand exit atoi strtol qsort isdigit isalpha " +
  "toupper tolower assert stdin stdout stderr";
const CPP_NAMES =
  "std cout cin cerr endl string vector map unordered_map set pair tuple optional variant array unique_ptr shared_ptr " +
  "make_unique make_shared move sort find begin end push_back emplace_back size empty getline to_string iostream " +
  "algorithm println format ranges views";

/** A header `.h` is taken for one of C. */
export const support = (path: string) => {
  const isC = /\.[ch]$/i.test(path);
  const sources = [
    offering(`${BOTH} ${isC ? C : CPP}`, "keyword"),
    offering(isC ? C_NAMES : `${CPP_NAMES} ${C_NAMES}`, "function"),
  ];
  return sources.map((autocomplete) => cppLanguage.data.of({ autocomplete }));
};
