// The JSON Schema of an instance's configuration.
export default {
  $schema: "https://json-schema.org/draft/2020-12/schema",
  type: "object",
  additionalProperties: false,
  required: ["number"],
  properties: {
    number: {
      description: "The number that messages are sent from, in E.164.",
      type: "string",
      pattern: "^\\+[0-9]{8,15}$",
    },
  },
};
