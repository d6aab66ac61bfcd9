import webpack from "webpack";
import config from "./webpack.config.js";

webpack(config, (error, stats) => {
  if (error) throw error;
  console.log(stats.toString());
  process.exitCode = stats.hasErrors() ? 1 : 0;
});
