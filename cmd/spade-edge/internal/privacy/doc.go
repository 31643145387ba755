// Package privacy has the command that plans noise, verifies certificates and looks after ledgers.
package privacy
