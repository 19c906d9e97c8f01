import { tell } from "./shared-C0ffee12.js";
export const late = () => "came";
try { localStorage.setItem("a", "b"); tell("kept", "yes"); } catch (e) { tell("kept", e.name); }
