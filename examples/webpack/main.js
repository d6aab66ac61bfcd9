import "colonnade/define";
