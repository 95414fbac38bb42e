// The keywords of Java, and the classes that first programs use.
import { javaLanguage } from "@codemirror/lang-java";

import { offering } from "../completion";

const KEYWORDS =
  "abstract assert boolean break byte case catch char class continue default do double else enum extends false final " +
  "finally float for if implements import instanceof int interface long native new null package permits private " +
  "protected public record return sealed short static strictfp super switch synchronized this throw throws transient " +
  "true try var void volatile when while yield";
const TYPES =
  "String System Object Integer Long Double Boolean Character Math List ArrayList LinkedList Map HashMap TreeMap Set " +
  "HashSet Arrays Collections Collectors Stream Optional Scanner Random StringBuilder Comparator Iterator Runnable " +
  "Thread Exception RuntimeException IllegalArgumentException IllegalStateException Override";

export const support = () => [
  javaLanguage.data.of({ autocomplete: offering(KEYWORDS, "keyword") }),
  javaLanguage.data.of({ autocomplete: offering(TYPES, "type") }),
];
