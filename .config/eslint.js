// The house style as rules. They hold for every file alike: nothing is switched off in a file's own text.
import jsdoc from "eslint-plugin-jsdoc";
import tseslint from "typescript-eslint";

/** A boolean among several parameters says nothing where the function is called; a member of an options object does. */
const POSITIONAL_BOOLEAN = {
  selector:
    ":matches(FunctionDeclaration, FunctionExpression, ArrowFunctionExpression)[params.length>1] > Identifier.params[typeAnnotation.typeAnnotation.type='TSBooleanKeyword']",
  message: "Make it a member of an options object, or two functions with a name each.",
};

/** For every file alike. */
const HOUSE_RULES = {
  "@typescript-eslint/consistent-type-imports": ["error", { fixStyle: "separate-type-imports" }],
  "@typescript-eslint/no-unused-vars": ["error", { argsIgnorePattern: "^_", varsIgnorePattern: "^_" }],
  "@typescript-eslint/switch-exhaustiveness-check": ["error", { considerDefaultExhaustiveForUnions: true }],
  "@typescript-eslint/restrict-template-expressions": ["error", { allowNumber: true }],
  "@typescript-eslint/no-confusing-void-expression": ["error", { ignoreArrowShorthand: true }],
  "no-console": "error",
  eqeqeq: "error",
  "max-lines": ["error", { max: 600 }],
  complexity: ["error", 20],
};

export default tseslint.config(
  { ignores: ["dist/**", "node_modules/**", ".config/*.js", "data/**"] },
  { linterOptions: { noInlineConfig: true } },
  {
    files: ["**/*.ts"],
    ignores: ["src/console/browser/**", "src/docs/browser/**"],
    extends: [tseslint.configs.strictTypeChecked],
    languageOptions: {
      parserOptions: { project: "./tsconfig.json", tsconfigRootDir: `${import.meta.dirname}/..` },
    },
    rules: HOUSE_RULES,
  },
  {
    // The console runs in browsers: it has types of its own.
    files: ["src/console/browser/**/*.ts", "src/console/browser/**/*.tsx"],
    extends: [tseslint.configs.strictTypeChecked],
    languageOptions: {
      parserOptions: {
        project: "./src/console/browser/tsconfig.json",
        tsconfigRootDir: `${import.meta.dirname}/..`,
        ecmaFeatures: { jsx: true },
      },
    },
    rules: HOUSE_RULES,
  },
  {
    files: ["src/docs/browser/**/*.ts"],
    extends: [tseslint.configs.strictTypeChecked],
    languageOptions: {
      parserOptions: {
        project: "./src/docs/browser/tsconfig.json",
        tsconfigRootDir: `${import.meta.dirname}/..`,
      },
    },
    rules: HOUSE_RULES,
  },
  {
    files: ["src/**/*.ts", "src/**/*.tsx", "workers/**/*.ts"],
    plugins: { jsdoc },
    rules: {
      "max-params": ["error", { max: 4 }],
      "max-lines-per-function": ["error", { max: 60, skipBlankLines: true, skipComments: true }],
      "max-len": [
        "error",
        {
          code: 120,
          ignoreStrings: true,
          ignoreTemplateLiterals: true,
          ignoreRegExpLiterals: true,
          ignoreUrls: true,
        },
      ],
      "no-restricted-syntax": ["error", POSITIONAL_BOOLEAN],
      "jsdoc/require-jsdoc": [
        "error",
        {
          publicOnly: true,
          checkConstructors: false,
          checkGetters: false,
          checkSetters: false,
          require: { FunctionDeclaration: true, MethodDefinition: true, ClassDeclaration: false },
        },
      ],
    },
  },
  {
    files: ["test/**/*.ts", "bench/**/*.ts"],
    rules: {
      "@typescript-eslint/no-non-null-assertion": "off",
      "no-console": "off",
      "@typescript-eslint/require-await": "off",
    },
  },
);
