package main

import "github.com/spf13/cobra"

// helpCommand takes the place of cobra's, which shows the general help, with status 0, for a command that does not exist.
func helpCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "help [COMMAND]",
		Short: "Print the help of a command",
		Args:  cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			topic, rest, err := cmd.Root().Find(args)
			if err != nil {
				return err
			}
			if len(rest) > 0 {
				return unknownTopic(topic, rest)
			}
			topic.InitDefaultHelpFlag()
			return topic.Help()
		},
	}
}

// unknownTopic says that topic has no command called like the first of rest.
func unknownTopic(topic *cobra.Command, rest []string) error {
	hint := "mcp-fsserve help shows the commands"
	if !topic.HasSubCommands() {
		hint = "did you mean: mcp-fsserve help " + topic.Name()
	} else if near := suggestions(topic, rest); len(near) > 0 {
		hint = "did you mean: mcp-fsserve help " + near[0]
	}
	return usageError(hint, "no help on: %s", rest[0])
}
