import { defineConfig } from "vite";

export default defineConfig({
  // For the development server, which would move the package away from its worker.
  optimizeDeps: { exclude: ["colonnade"] },
});
