import { SignIn, SignOut } from "./sign-in.js";

customElements.define("sign-in", SignIn);
customElements.define("sign-out", SignOut);
