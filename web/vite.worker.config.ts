import { defineConfig } from "vite";

export default defineConfig({
  build: {
    target: "es2022",
    emptyOutDir: false,
    lib: { entry: { worker: "src/worker.ts" }, formats: ["es"] },
  },
});
