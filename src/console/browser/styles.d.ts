/** A style sheet, which the build takes into the script's own. */
declare module "*.css";
