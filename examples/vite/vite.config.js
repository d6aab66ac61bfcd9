import { defineConfig } from "vite";

export default defineConfig({
  // The development server would move the package away from its worker.
  optimizeDeps: { exclude: ["colonnade"] },
});
