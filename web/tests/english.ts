// The tests expect English.

import english from "../src/locales/en.json";
import { speak } from "../src/messages";

speak("en", english);
