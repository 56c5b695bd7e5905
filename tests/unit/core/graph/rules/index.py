"""Every sentence of graph-rules.md and every trap of semantics.md, with the tests that prove it.

A test is named by its module and its name. `test_index.py` holds that each of them exists, that no sentence is without
one, and that no rule test is without a sentence.
"""

from __future__ import annotations

from typing import NamedTuple


class Rule(NamedTuple):
    id: str
    """Section, bullet and sentence; `trap.<number>` for a trap."""
    says: str
    tests: tuple[str, ...] = ()
    pending: str = ""
    """What is to be tested, and where, once it can be."""
    part_5: str = ""
    """Why it takes a running system to see it."""


RULES: tuple[Rule, ...] = (
    Rule(
        "scopes.1a",
        "A **token is one visit of one node**.",
        ("test_tokens::test_a_token_is_one_visit_of_one_node",),
    ),
    Rule(
        "scopes.1b",
        (
            "Taking a transition consumes it and creates the next one (`parent`, `from`, `to`, `hop` = "
            "parent's + 1; after a join the largest + 1)."
        ),
        (
            "test_scopes::test_taking_a_transition_consumes_the_token_and_creates_the_next",
            "test_scopes::test_after_a_join_the_hop_is_the_largest_and_one",
            "test_properties::test_every_token_comes_from_another_and_is_consumed_once",
        ),
    ),
    Rule(
        "scopes.2a",
        "A **scope** holds data: the root (`state`, node outputs) or one branch of a group instance.",
        (
            "test_scopes::test_state_inside_a_branch_is_the_roots_and_live_and_writes_stay_inside",
            "test_scopes::test_node_outputs_are_found_in_the_nearest_scope_and_leave_with_their_branch",
        ),
    ),
    Rule(
        "scopes.2b",
        "A token belongs to one scope.",
        ("test_properties::test_every_token_comes_from_another_and_is_consumed_once",),
    ),
    Rule(
        "scopes.2c",
        (
            "A group instance is (group, opening token); it is new on every visit, so iterations and nestings"
            " never share one."
        ),
        (
            "test_joins::test_a_join_in_the_next_iteration_is_a_new_instance",
            "test_scopes::test_two_outer_branches_with_inner_joins_on_one_target_do_not_clobber_each_other",
            "test_groups::test_a_branch_that_loops_back_to_the_opener_opens_an_instance_of_its_own_inside",
        ),
    ),
    Rule(
        "scopes.3a",
        (
            "**Only a group opens scopes.** A transition opens one if it has `group`, `foreach` or `spawn` "
            "(unnamed: the transition's id), or its node says `fan_out: all` (group = node id, seed 000)."
        ),
        ("test_scopes::test_only_a_group_opens_scopes",),
    ),
    Rule(
        "scopes.3b",
        (
            "Several targets without a group (002's `dependents` and `next_nodes`, equal priorities) only "
            "**fork**: the tokens share the scope and see each other's outputs by node id."
        ),
        (
            "test_scopes::test_several_targets_without_a_group_fork_and_share_the_scope",
            "test_tokens::test_several_targets_without_a_group_share_one_scope",
        ),
    ),
    Rule(
        "scopes.4a",
        "Branches are numbered 0…n-1 by transition declaration, then item.",
        (
            "test_scopes::test_branches_are_numbered_by_transition_then_item",
            "test_tokens::test_branches_are_numbered_by_declaration_and_not_by_priority",
        ),
    ),
    Rule(
        "scopes.4b",
        "`_branch` = `{index, total, fan_out_node_id, group, item, output, parent}`;",
        ("test_scopes::test_the_branch_variable_has_all_its_fields",),
    ),
    Rule(
        "scopes.4c",
        "`foreach: {in, item}` may name the item.",
        (
            "test_scopes::test_the_branch_variable_has_all_its_fields",
            "test_tokens::test_each_foreach_of_a_group_names_its_own_item",
        ),
    ),
    Rule(
        "scopes.5a",
        (
            "Writes go to the innermost scope: in a branch every output mapping lands in `_branch.output`; a "
            "join's merge lands in the scope that opened the group (outer `_branch.output.<target>`, "
            "`state.<target>` only at the root)."
        ),
        (
            "test_scopes::test_state_inside_a_branch_is_the_roots_and_live_and_writes_stay_inside",
            "test_scopes::test_two_outer_branches_with_inner_joins_on_one_target_do_not_clobber_each_other",
        ),
    ),
    Rule(
        "scopes.5b",
        "Reads look outward.",
        ("test_scopes::test_node_outputs_are_found_in_the_nearest_scope_and_leave_with_their_branch",),
    ),
    Rule(
        "scopes.5c",
        "`state` inside a branch is the root's, live and read-only.",
        ("test_scopes::test_state_inside_a_branch_is_the_roots_and_live_and_writes_stay_inside",),
    ),
    Rule(
        "scopes.5d",
        (
            "`nodes.<id>.output` (= `ctx.<id>.output`, with `.metadata`) is the latest completion in the "
            "nearest scope that has one; a closed branch takes its own with it."
        ),
        (
            "test_scopes::test_node_outputs_are_found_in_the_nearest_scope_and_leave_with_their_branch",
            "test_tokens::test_a_nodes_output_and_metadata_are_read_by_either_name",
            "test_tokens::test_the_latest_completion_is_the_nodes_output",
        ),
    ),
    Rule(
        "scopes.6a",
        (
            "An unjoined group's branch outputs stay readable to the run's `output` mapping as "
            "`_branches.<group>` (list by index, last instance)."
        ),
        (
            "test_scopes::test_outputs_of_an_unjoined_group_are_read_by_the_runs_output",
            "test_tokens::test_an_unjoined_groups_outputs_are_those_of_its_last_instance",
        ),
    ),
    Rule(
        "data.1a",
        "No `input` mapping: the token's payload.",
        ("test_data::test_a_node_is_given_its_predecessors_output",),
    ),
    Rule(
        "data.1b",
        (
            "Payload = run input at an entry; predecessor's output; `{predecessor: output}` in declared order"
            " at a named join; the merged value at a group join; the item in a foreach branch; the last "
            "output on a loop back; `{...input, decision, comments, decided_by, decided_at}` after a human "
            "node."
        ),
        (
            "test_data::test_an_entry_is_given_the_runs_input",
            "test_data::test_a_node_is_given_its_predecessors_output",
            "test_data::test_a_named_join_is_given_its_predecessors_outputs_in_declared_order",
            "test_data::test_a_group_join_is_given_the_merged_value_and_a_branch_its_item",
            "test_data::test_a_loop_back_is_given_the_last_output",
            "test_tokens::test_after_a_person_the_payload_is_the_input_and_the_decision",
            "test_tokens::test_an_item_that_is_null_is_still_the_branchs_payload",
            "test_course::test_a_rejection_takes_its_path",
        ),
    ),
    Rule(
        "data.2a",
        "No `output` mapping: the output is the payload and `nodes.<id>.output`; `state` is untouched.",
        ("test_data::test_without_an_output_mapping_the_state_is_untouched",),
    ),
    Rule(
        "data.2b",
        (
            "A branch's output is `_branch.output` if a mapping wrote it, else the arriving token's payload "
            "(several arrivals: an object by source node in declared order)."
        ),
        (
            "test_data::test_a_branchs_output_is_what_a_mapping_wrote_else_its_arrivals_by_source",
            "test_tokens::test_two_arrivals_from_one_node_in_one_branch_do_not_depend_on_their_order",
            "test_tokens::test_a_branch_whose_mapping_deleted_all_it_wrote_has_an_empty_output",
        ),
    ),
    Rule(
        "data.3a",
        (
            "No run `output`: the output of the one terminal completion; with several, `{node: output}` (a "
            "list where a node completed more than once)."
        ),
        (
            "test_data::test_one_end_is_the_output",
            "test_data::test_several_ends_are_an_object_in_declared_order",
            "test_data::test_a_node_that_ended_more_than_once_gives_a_list",
        ),
    ),
    Rule(
        "data.4a",
        ("Order at a completion: output schema, output mapping, state schema, store, loop, branch/transitions, joins."),
        (
            "test_routing::test_the_output_schema_comes_before_the_output_mapping",
            "test_tokens::test_the_output_mapping_comes_before_the_state_schema",
            "test_tokens::test_what_was_stored_is_seen_by_the_loop_and_the_loop_comes_before_the_branch",
            "test_tokens::test_transitions_come_before_joins",
        ),
    ),
    Rule(
        "data.4b",
        (
            "Objects built by the engine have keys in declared order, so bytes and hashes do not depend on "
            "arrival order."
        ),
        (
            "test_tokens::test_what_forks_wrote_has_the_same_bytes_in_any_order",
            "test_tokens::test_objects_that_the_engine_builds_have_their_keys_in_declared_order",
            "test_data::test_several_ends_are_an_object_in_declared_order",
        ),
    ),
    Rule(
        "routing.1a",
        "`priority` defaults to 1; ties keep declaration order; no `when` = true;",
        (
            "test_routing::test_transitions_fire_by_tier",
            "test_routes::test_ties_keep_the_order_of_declaration",
        ),
    ),
    Rule(
        "routing.1b",
        "`default: true` = last tier.",
        (
            "test_routing::test_transitions_fire_by_tier",
            "test_routes::test_first_match_may_come_to_the_default",
            "test_routes::test_fan_out_all_falls_back_to_the_default_in_a_branch_of_its_own",
        ),
    ),
    Rule(
        "routing.1c",
        "`fan_out` absent: tiers (003).",
        (
            "test_routing::test_transitions_fire_by_tier",
            "test_routes::test_a_condition_of_a_later_tier_is_not_asked",
        ),
    ),
    Rule(
        "routing.1d",
        "`first_match`: the first match by (priority, order).",
        (
            "test_routing::test_transitions_fire_by_tier",
            "test_routes::test_first_match_takes_one_way_and_opens_at_most_its_group",
        ),
    ),
    Rule(
        "routing.1e",
        "`all`: every match of every tier, each in its own branch (000).",
        (
            "test_routing::test_transitions_fire_by_tier",
            "test_compile::test_fan_out_all_opens_one_group_named_after_the_node",
        ),
    ),
    Rule(
        "routing.2a",
        (
            "**Routing failures** (`CONDITION_ERROR, NO_MATCH, FOREACH_NOT_A_LIST, LOOP_LIMIT, "
            "ROUTE_NOT_ALLOWED, OUTPUT_SCHEMA, STATE_SCHEMA`) are failures of the node just completed: not "
            "retried, catchable by its `on: error`; its effect stands and is compensated like any other."
        ),
        (
            "test_routing::TestRoutingFailure::test_fails_the_node_just_completed_and_is_not_retried",
            "test_routing::TestRoutingFailure::test_is_caught_by_on_error",
            "test_routing::TestRoutingFailure::test_leaves_an_effect_that_is_compensated",
            "test_routes::test_a_route_that_is_not_allowed_leaves_an_effect_that_is_compensated",
            "test_routes::test_a_routing_failure_in_a_branch_ends_that_branch",
        ),
    ),
    Rule(
        "routing.3a",
        "A condition that raises fails the node (`on_condition_error: no_match` opts out).",
        (
            "test_routing::test_transitions_fire_by_tier",
            "test_routes::test_one_condition_that_raises_fails_the_node_although_another_of_its_tier_holds",
            "test_waves::test_a_loop_condition_that_raises_fails_the_node",
        ),
    ),
    Rule(
        "routing.3b",
        ("A JSONPath that finds nothing is not an error: comparisons are false, `length()`, `count_*`, `sum_*` see 0."),
        (
            "test_routing::test_transitions_fire_by_tier",
            "test_condition_jsonpath::test_an_operator_over_what_the_query_finds",
        ),
    ),
    Rule(
        "routing.3c",
        "`$` is the current output.",
        (
            "test_routing::test_transitions_fire_by_tier",
            "test_condition_jsonpath::test_the_query_is_over_the_current_output_whatever_it_is",
        ),
    ),
    Rule(
        "routing.4a",
        (
            "After the last attempt fails, the candidates are transitions with `on: error` and those whose "
            "condition reads `_last_error`; a plain unconditional transition never catches."
        ),
        (
            "test_routes::test_after_the_last_attempt_only_those_that_ask_for_it_catch",
            "test_routes::test_nothing_catches_before_the_last_attempt",
            "test_routing::test_a_plain_transition_never_catches",
        ),
    ),
    Rule(
        "routing.4b",
        (
            "`_last_error {code, message, node, attempt, retryable, details, cause}` travels with the token "
            "(shown as `state._last_error`), and is dropped at its next success."
        ),
        (
            "test_routing::test_the_last_error_says_all_it_knows",
            "test_routing::test_the_last_error_travels_with_the_token_until_its_next_success",
            "test_routes::test_an_error_way_may_open_a_group_and_its_branches_see_the_error",
            "test_routes::test_the_last_error_of_a_failed_join_is_seen_by_its_handler",
            "test_routes::test_the_last_error_is_dropped_at_the_next_success_and_stays_over_a_retry",
            "test_waves::test_an_error_that_came_to_a_join_is_seen_there",
        ),
    ),
    Rule(
        "routing.4c",
        "It is never part of `_branch.output`.",
        (
            "test_routes::test_the_last_error_is_never_part_of_a_branchs_output",
            "test_routes::test_an_error_way_inside_a_branch_may_lead_to_the_join",
        ),
    ),
    Rule(
        "routing.5a",
        (
            "Sandboxed conditions: when a tier needs one, all sandboxed conditions of that tier go out as one"
            " evaluation task with a snapshot of the variables; the token is `routing`; the verdict is an "
            "event; evaluation goes on from there."
        ),
        (
            "test_sandbox::test_all_sandboxed_conditions_of_a_tier_go_out_as_one_task_with_what_they_see",
            "test_sandbox::test_the_token_is_routing_and_the_run_is_not_over",
            "test_sandbox::test_the_verdict_is_an_event_and_evaluation_goes_on_from_there",
            "test_sandbox::test_a_later_tier_is_asked_only_when_the_one_before_has_no_match",
            "test_sandbox::test_a_program_that_breaks_is_a_condition_that_raises",
            "test_sandbox::test_a_tier_that_needs_none_is_decided_without_asking",
            "test_sandbox::test_programs_that_nobody_evaluates_do_not_hang",
            "test_sandbox::test_a_loops_condition_may_be_sandboxed",
            "test_sandbox::test_an_error_way_may_be_sandboxed",
            "test_sandbox::test_an_error_way_that_does_not_hold_does_not_catch",
            "test_sandbox::test_a_late_verdict_changes_nothing",
        ),
    ),
    Rule(
        "routing.6a",
        (
            "Agent-driven branch: the result carries `next_nodes`; one not in `available_next_nodes` → "
            "`ROUTE_NOT_ALLOWED`, retryable by the node's policy; empty → `default`."
        ),
        (
            "test_routing::test_an_agent_chooses_the_next_nodes",
            "test_routing::test_an_agent_may_only_go_where_it_is_allowed_and_may_try_again",
            "test_routes::test_a_route_that_is_not_allowed_is_not_retried_without_a_policy_and_can_be_caught",
        ),
    ),
    Rule(
        "joins.1a",
        (
            "**Group join**: `synchronize {group, wait_for: all | any | {m_of_n: m}, on_sibling_failure, "
            "on_early_complete, timeout, on_timeout, on_empty, merge {strategy, target, source, key}}` on a "
            "transition; 000's node-level `fan_in` means the same for the innermost group; 003's "
            "`joins_transition` names the transition's group."
        ),
        (
            "test_groups::test_every_spelling_joins_the_group",
            "test_compile::test_fan_in_is_a_join_of_the_innermost_group",
            "test_compile::test_a_join_may_name_the_transition_that_opened_the_group",
        ),
    ),
    Rule(
        "joins.1b",
        (
            "All transitions that synchronize a group agree and lead to one node, else `GROUP_JOINED_TWICE`; "
            "it must be the innermost open group, else `JOIN_SKIPS_GROUP` (both at registration)."
        ),
        (
            "test_groups::test_joins_of_one_group_agree_and_join_the_innermost",
            "test_problems::test_an_error_is_found_at_its_place",
        ),
    ),
    Rule(
        "joins.1c",
        "A token outside the group passes through (003).",
        ("test_joins::test_a_token_outside_the_group_passes_the_join",),
    ),
    Rule(
        "joins.2a",
        "Counted by **branch**, not token.",
        (
            "test_joins::test_a_join_counts_branches",
            "test_joins::test_a_branch_with_a_token_still_open_has_not_arrived",
        ),
    ),
    Rule(
        "joins.2b",
        (
            "A branch is open while a token, inner group, task, timer, approval or child of it is open; then "
            "it is `arrived`, `ended` (went elsewhere), `failed` or `cancelled`."
        ),
        (
            "test_groups::test_a_branch_is_open_while_anything_of_it_is",
            "test_groups::test_a_branch_is_open_while_an_inner_group_is",
            "test_groups::test_a_branch_that_ends_anywhere_else_is_not_waited_for",
            "test_sandbox::test_a_branch_is_open_while_its_token_is_routing",
        ),
    ),
    Rule(
        "joins.3a",
        (
            "`all`: fires when no branch is open, merging the arrived; if none arrived and none failed, it "
            "does not fire."
        ),
        (
            "test_joins::test_a_join_counts_branches",
            "test_properties::test_no_schedule_changes_the_output_the_state_or_the_paths",
        ),
    ),
    Rule(
        "joins.3b",
        (
            "`any` = `m_of_n: 1`; fires at the m-th arrived; failures do not fail it, but `arrived + open < "
            "m` fails it at once (`JOIN_UNREACHABLE`)."
        ),
        (
            "test_joins::test_a_join_counts_branches",
            "test_properties::test_every_run_comes_to_an_end",
        ),
    ),
    Rule(
        "joins.4a",
        "`on_sibling_failure` (only for `all`): `fail` (default) cancels the rest;",
        (
            "test_joins::test_a_join_counts_branches",
            "test_groups::test_a_failed_branch_cancels_the_rest_by_default",
        ),
    ),
    Rule(
        "joins.4b",
        (
            "`settle` merges the arrived and puts `[{index, item, error}]` into `_errors.<group>` of the "
            "enclosing scope."
        ),
        (
            "test_joins::test_a_settled_join_lists_the_errors_in_the_enclosing_scope",
            "test_groups::test_settled_errors_are_listed_by_branch_whatever_came_first",
            "test_groups::test_all_settles_although_every_branch_failed",
            "test_groups::test_the_errors_of_one_iteration_are_not_those_of_the_next",
            "test_groups::test_errors_of_an_inner_group_are_those_of_its_own_branch",
            "test_properties::test_no_schedule_changes_what_settles",
        ),
    ),
    Rule(
        "joins.5a",
        (
            "A failed join fails its target node without running it, in the enclosing scope: that node's `on:"
            " error` may catch; else the enclosing scope fails, and so on to the run."
        ),
        (
            "test_joins::test_a_failed_join_fails_its_target_which_may_catch",
            "test_groups::test_a_failed_join_fails_outward_until_someone_catches",
            "test_groups::test_an_inner_failure_is_caught_inside_its_branch",
            "test_groups::test_a_failed_joins_target_is_not_tried_again_and_not_parked",
            "test_groups::test_a_branch_that_fails_takes_its_inner_groups_with_it",
            "test_groups::test_a_branch_that_failed_is_not_saved_by_the_handler_of_an_inner_join",
        ),
    ),
    Rule(
        "joins.5b",
        "A group without a join fails its enclosing scope.",
        (
            "test_joins::test_a_group_without_a_join_fails_its_enclosing_scope_at_once",
            "test_groups::test_an_inner_group_without_a_join_fails_its_branch_and_no_more",
        ),
    ),
    Rule(
        "joins.6a",
        (
            "`on_early_complete`: `cancel` (default) or `abandon`: an open sibling finishes the node it is "
            "on, the result is recorded with `applied: false`, then it ends: no retry, no next node."
        ),
        (
            "test_joins::test_open_siblings_are_cancelled_by_default_and_their_late_results_ignored",
            "test_joins::test_abandoned_siblings_finish_their_node_and_are_recorded_not_applied",
            "test_early::test_an_abandoned_siblings_task_is_not_cancelled",
            "test_early::test_an_abandoned_siblings_child_is_not_cancelled",
            "test_early::test_an_abandoned_sibling_is_not_tried_again_and_goes_no_further",
            "test_early::test_a_late_result_is_never_applied",
        ),
    ),
    Rule(
        "joins.6b",
        "It delays the close of the run, never the outcome.",
        (
            "test_early::test_an_abandoned_sibling_delays_the_close_and_never_the_outcome",
            "test_early::test_an_abandoned_sibling_does_not_delay_the_group_around",
            "test_early::test_an_abandoned_sibling_does_not_keep_a_named_join_waiting",
            "test_early::test_a_settled_group_around_an_abandoned_one_closes",
        ),
    ),
    Rule(
        "joins.6c",
        "Either way late successes count for compensation.",
        (
            "test_early::test_a_late_success_counts_for_compensation_either_way",
            "test_joins::test_an_abandoned_sibling_counts_for_compensation",
        ),
    ),
    Rule(
        "joins.7a",
        "`timeout` runs from the opening of the group;",
        (
            "test_joins::test_the_timeout_runs_from_the_opening_of_the_group",
            "test_groups::test_the_timeout_of_a_nested_group_runs_from_its_own_opening",
            "test_groups::test_a_join_that_fired_is_not_troubled_by_its_timeout",
        ),
    ),
    Rule(
        "joins.7b",
        "`on_timeout: fail` (default) or `proceed_with_available` (the rest by `on_early_complete`).",
        (
            "test_joins::test_the_timeout_runs_from_the_opening_of_the_group",
            "test_early::test_a_timeout_that_proceeds_leaves_the_rest_to_the_early_policy",
            "test_groups::test_a_timeout_with_none_arrived_proceeds_with_nothing",
            "test_groups::test_a_timeout_that_proceeds_lists_the_errors_of_those_that_failed",
            "test_early::test_the_timeout_of_an_inner_join_in_an_abandoned_branch_fires_nothing",
            "test_early::test_the_timeout_of_a_join_within_the_grace_of_a_cancelled_run_fires_nothing",
        ),
    ),
    Rule(
        "joins.8a",
        "Empty group: `all` fires at once, without evaluating the transition's `when`;",
        (
            "test_joins::test_an_empty_group_is_decided_at_once",
            "test_groups::test_an_empty_group_inside_a_branch_is_joined_at_once_without_asking_its_condition",
            "test_groups::test_an_outer_group_may_be_empty_too",
            "test_groups::test_a_spawn_of_none_is_an_empty_group",
            "test_groups::test_an_empty_foreach_beside_a_plain_member_of_its_group_is_not_an_empty_group",
            "test_groups::test_an_empty_group_without_a_join_is_over_at_once",
        ),
    ),
    Rule(
        "joins.8b",
        "`any` and `m_of_n` fail;",
        (
            "test_joins::test_an_empty_group_is_decided_at_once",
            "test_groups::test_an_empty_inner_any_fails_only_its_branch",
        ),
    ),
    Rule(
        "joins.8c",
        "`on_empty: complete | fail` overrides.",
        ("test_joins::test_an_empty_group_is_decided_at_once",),
    ),
    Rule(
        "joins.8d",
        "Empty merges: `[]`, `{}`, `{}`, `null`.",
        (
            "test_groups::test_an_empty_group_merges_to_the_empty_value_of_its_strategy",
            "test_merge::test_a_strategy_merges_by_index",
        ),
    ),
    Rule(
        "joins.9a",
        (
            "Merges, by branch index: `append` one element per branch, never flattened (`collect` is its "
            "alias; `concat` flattens one level);"
        ),
        (
            "test_merge::test_a_strategy_merges_by_index",
            "test_groups::test_collect_is_append",
            "test_properties::test_append_keeps_every_output_as_it_is",
            "test_properties::test_concat_flattens_what_append_keeps_by_one_level",
            "test_properties::test_the_order_of_arrival_never_changes_a_merge",
        ),
    ),
    Rule(
        "joins.9b",
        "`merge_object` shallow, later index wins, non-object → `MERGE_TYPE`;",
        (
            "test_merge::test_a_strategy_merges_by_index",
            "test_merge::test_a_merge_of_another_type_fails_the_joins_target",
            "test_properties::test_merging_objects_is_associative_and_the_empty_one_changes_nothing",
            "test_properties::test_only_objects_are_merged_as_objects",
        ),
    ),
    Rule(
        "joins.9c",
        "`keyed_by_branch` by index as string or `key`;",
        (
            "test_merge::test_the_source_and_the_key_are_expressions_over_the_branch",
            "test_groups::test_keys_are_the_indices_of_those_that_arrived",
        ),
    ),
    Rule(
        "joins.9d",
        "`last_wins` the highest index, not the latest in time.",
        ("test_groups::test_the_last_wins_by_index_and_not_by_time",),
    ),
    Rule(
        "joins.10a",
        (
            "**Named join**: `dependencies` + `wait_for_all: true` (default false: one execution per arrival,"
            " with a lint warning)."
        ),
        (
            "test_named_joins::test_without_wait_for_all_there_is_one_execution_per_arrival",
            "test_named_joins::test_it_runs_once_when_every_predecessor_has_arrived",
            "test_waves::test_several_dependencies_without_wait_for_all_are_worth_a_warning",
            "test_waves::test_a_group_join_may_be_one_of_the_predecessors_of_a_named_join",
        ),
    ),
    Rule(
        "joins.10b",
        "Instance = (node, scope, open loop counts).",
        (
            "test_named_joins::test_each_branch_has_an_instance_of_its_own",
            "test_waves::test_each_turn_of_a_loop_is_joined_for_itself",
            "test_waves::test_a_join_that_waits_is_cancelled_with_its_branch",
        ),
    ),
    Rule(
        "joins.10c",
        "One arrival per predecessor; a second one from the same predecessor starts the next wave.",
        ("test_named_joins::test_a_second_arrival_from_one_predecessor_starts_the_next_wave",),
    ),
    Rule(
        "joins.10d",
        "A `loop_back_to` arrival does not wait.",
        ("test_named_joins::test_each_loop_iteration_is_an_instance_of_its_own_and_the_way_back_does_not_wait",),
    ),
    Rule(
        "joins.11a",
        (
            "**Unreachable**: a named join with nothing else open in its scope can never fire: "
            "`on_unreachable: fail` (default, names the missing predecessors) or `proceed`."
        ),
        (
            "test_named_joins::test_a_predecessor_that_was_never_chosen_fails_it_at_once_and_is_named",
            "test_named_joins::test_it_may_proceed_with_those_that_came",
            "test_named_joins::test_it_waits_while_anything_else_is_open_in_its_scope",
            "test_waves::test_it_waits_for_a_group_that_is_open_in_its_scope",
            "test_waves::test_in_a_branch_it_is_decided_when_nothing_else_is_open_in_that_branch",
        ),
    ),
    Rule(
        "joins.11b",
        "Decided in the same decision; never left to a sweeper.",
        (
            "test_waves::test_an_unreachable_join_is_decided_in_the_decision_that_made_it_so",
            "test_waves::test_whatever_ends_the_last_other_way_the_join_is_decided_at_once",
        ),
    ),
    Rule(
        "loops.1a",
        "`max_iterations` counts executions of the looping node.",
        ("test_waves::test_executions_are_what_is_counted",),
    ),
    Rule(
        "loops.1b",
        (
            "The condition is evaluated **first**: false → leave (branch rules, `branch.default`, else "
            "`break_path`, else `dependents`); true and executions < max → back; true at max → "
            "`timeout_path`; no `timeout_path` → `LOOP_LIMIT`;"
        ),
        (
            "test_loops::test_the_condition_is_asked_before_the_limit",
            "test_loops::test_without_a_timeout_path_the_limit_fails",
            "test_loops::test_true_below_the_limit_goes_back",
            "test_waves::test_a_false_condition_leaves_by_rules_then_default_then_paths",
        ),
    ),
    Rule(
        "loops.1c",
        "`[]` ends the token.",
        ("test_loops::test_an_empty_timeout_path_ends_the_token",),
    ),
    Rule(
        "loops.1d",
        (
            "(The seed's code checks the limit first, so a payment that succeeds on try 5 would be refunded.)"
            " With a `branch`, `break_path` is dead: lint warning."
        ),
        (
            "test_waves::test_a_payment_that_succeeds_on_its_last_try_is_not_refunded",
            "test_waves::test_with_a_branch_a_break_path_is_worth_a_warning",
            "test_loops::test_with_a_branch_its_rules_route_on_break",
        ),
    ),
    Rule(
        "loops.1e",
        "Defaults: `loop_back_to` self; no condition = always.",
        ("test_loops::test_without_a_condition_it_always_goes_back_to_itself",),
    ),
    Rule(
        "loops.2a",
        (
            "The count belongs to (node, scope), is visible as `loop.iteration`, and is **dropped when the "
            "loop is left**, by any way."
        ),
        (
            "test_loops::test_the_count_belongs_to_the_scope",
            "test_loops::test_the_iteration_is_visible_in_the_whole_body",
            "test_loops::test_the_count_is_dropped_when_the_loop_is_left",
            "test_loops::test_the_count_is_dropped_when_a_failure_in_the_body_leaves_the_loop",
            "test_waves::test_a_loop_limit_is_caught_and_the_count_is_dropped",
            "test_waves::test_the_count_is_dropped_by_whatever_path_the_loop_is_left",
            "test_waves::test_the_count_is_dropped_when_the_branch_it_belongs_to_closes",
            "test_waves::test_a_loop_around_a_fan_out_keeps_its_count_while_the_branches_work",
            "test_waves::test_inner_loops_begin_anew_on_every_turn_of_the_outer_one",
            "test_early::test_an_abandoned_sibling_does_not_keep_a_loops_count",
            "test_groups::test_a_loop_inside_each_branch_counts_for_itself_and_arrives_once",
        ),
    ),
    Rule(
        "loops.2b",
        "A back-edge in the transition spelling carries `max_iterations`; at the limit it does not match.",
        (
            "test_loops::test_a_back_edge_at_its_limit_does_not_match",
            "test_waves::test_a_back_edge_counts_per_scope",
        ),
    ),
    Rule(
        "failure.1a",
        '`max_attempts` counts executions (default 1: 000 "no retry policy = fail immediately");',
        (
            "test_failure::test_without_a_retry_policy_a_failure_is_final",
            "test_attempts::test_attempts_and_the_delays_between_them",
            "test_properties::test_attempts_are_bounded_and_come_when_they_are_due",
        ),
    ),
    Rule(
        "failure.1b",
        "`max_retries: n` and a bare `retry: n` are read as n+1 and n.",
        (
            "test_attempts::test_attempts_and_the_delays_between_them",
            "test_compile::test_retries",
        ),
    ),
    Rule(
        "failure.1c",
        "Delay before attempt k+1: fixed d, linear d·k, exponential d·multiplier^(k-1), capped;",
        (
            "test_attempts::test_attempts_and_the_delays_between_them",
            "test_failure::test_the_delay_before_the_next_attempt",
            "test_properties::test_every_delay_is_that_of_the_formula_within_its_jitter",
        ),
    ),
    Rule(
        "failure.1d",
        "`jitter` default 0.",
        (
            "test_attempts::test_attempts_and_the_delays_between_them",
            "test_failure::test_jitter_stays_within_its_share_and_is_the_same_on_replay",
        ),
    ),
    Rule(
        "failure.2a",
        (
            "`timeout` is per attempt, from the worker's start, enforced by the worker; the run's own timer "
            "is `timeout` + margin after `task.started` if the worker reports it, else after dispatch + "
            "`queue_timeout`."
        ),
        (
            "test_failure::test_a_worker_that_never_answers_times_out_and_is_tried_again",
            "test_attempts::test_the_runs_own_timer_gives_the_worker_its_queue_time_and_a_margin",
            "test_attempts::test_once_the_worker_reports_its_start_its_time_runs_from_there",
            "test_attempts::test_each_attempt_has_its_whole_time",
        ),
    ),
    Rule(
        "failure.2b",
        "A redelivery is the same attempt.",
        (
            "test_attempts::test_a_redelivery_is_the_same_attempt",
            "test_failure::test_a_repeated_result_is_applied_once",
        ),
    ),
    Rule(
        "failure.2c",
        "`limits.deadline_s` on a node covers all attempts;",
        (
            "test_failure::test_a_node_deadline_covers_all_attempts",
            "test_attempts::test_a_nodes_deadline_ends_a_retry_that_is_still_waiting_and_can_be_caught",
            "test_undo::test_the_attempts_of_a_node_that_is_a_child_share_its_deadline",
        ),
    ),
    Rule(
        "failure.2d",
        "`limits.max_hops` is checked at dispatch.",
        (
            "test_attempts::test_the_hops_of_a_node_are_checked_when_it_is_dispatched",
            "test_failure::test_a_run_that_goes_round_for_ever_meets_its_hop_limit",
        ),
    ),
    Rule(
        "failure.3a",
        (
            "After the last attempt: `on_exhausted: fail` (default; the node fails; a dead letter is kept for"
            " inspection and can only be dropped) or `park` (the token waits, the run is `waiting`, incident "
            "raised;"
        ),
        (
            "test_attempts::test_what_was_given_up_is_kept_as_a_dead_letter",
            "test_attempts::test_only_what_is_parked_can_be_retried",
            "test_failure::test_a_parked_token_waits_and_raises_an_incident",
            "test_attempts::test_a_run_whose_last_token_is_parked_waits",
            "test_attempts::test_the_park_of_one_token_leaves_the_others_alone",
        ),
    ),
    Rule(
        "failure.3b",
        "`dlq retry` dispatches a new attempt with the same idempotency key, `dlq drop` fails the node).",
        (
            "test_failure::test_a_parked_token_is_tried_once_more_under_the_same_key",
            "test_failure::test_a_dropped_token_fails_its_node",
            "test_attempts::test_a_dropped_token_may_be_caught",
            "test_attempts::test_a_parked_token_that_fails_again_is_parked_again",
        ),
    ),
    Rule(
        "failure.4a",
        "Uncaught failure at the root: outcome `failed`; all other tokens are cancelled (000).",
        (
            "test_attempts::test_an_uncaught_failure_at_the_root_cancels_every_other_token",
            "test_failure::test_an_uncaught_failure_ends_everything_else_and_waits_for_what_runs",
        ),
    ),
    Rule(
        "failure.4b",
        "The first of failed, cancelled, timed_out to be recorded is the outcome; later ones are notes.",
        ("test_attempts::test_the_first_outcome_to_be_recorded_stands",),
    ),
    Rule(
        "life.1a",
        (
            "`status`: pending, running (something is dispatched or ready), waiting (open, nothing "
            "dispatched), paused, compensating, closed;"
        ),
        (
            "test_course::test_a_run_that_was_not_started_is_pending",
            "test_course::test_a_run_is_running_while_something_is_dispatched_and_else_waits",
            "test_course::test_a_run_that_waited_runs_again",
            "test_course::test_a_run_between_two_attempts_waits",
        ),
    ),
    Rule(
        "life.1b",
        "`outcome`: none, completed, failed, cancelled, timed_out.",
        (
            "test_course::test_the_outcome_is_known_before_the_close",
            "test_attempts::test_the_first_outcome_to_be_recorded_stands",
        ),
    ),
    Rule(
        "life.1c",
        "Clients and parents see the outcome at once; a failed child is reported when closed.",
        (
            "test_undo::test_a_failed_child_is_reported_to_its_parent_when_it_is_closed",
            "test_undo::test_a_completed_child_is_reported_at_once",
            "test_early::test_an_abandoned_sibling_delays_the_close_and_never_the_outcome",
        ),
    ),
    Rule(
        "life.2a",
        (
            "Quiescence ignores the run's deadline, stall and retention timers, buffered signals and "
            "abandoned tokens' waits."
        ),
        (
            "test_course::test_quiescence_ignores_the_runs_own_timers_and_buffered_signals",
            "test_early::test_what_an_abandoned_branch_waited_for_is_over",
            "test_course::test_a_run_is_not_complete_while_a_token_waits_for_anything",
        ),
    ),
    Rule(
        "life.3a",
        (
            "Pause: facts (results, decisions, signals, timers) are recorded and tokens move; nothing is "
            "dispatched, started or asked until resume."
        ),
        (
            "test_life::test_a_paused_run_records_facts_and_dispatches_nothing",
            "test_course::test_nothing_is_dispatched_started_or_asked_until_resume",
            "test_course::test_tokens_move_through_what_needs_no_work_while_paused",
            "test_course::test_signals_and_decisions_are_taken_while_paused",
            "test_course::test_a_retry_that_falls_due_while_paused_waits_for_resume",
            "test_course::test_a_parked_token_that_is_retried_while_paused_waits_for_resume",
            "test_course::test_a_fan_out_while_paused_is_dispatched_at_resume_within_its_limits",
            "test_course::test_joins_are_decided_while_paused",
            "test_course::test_a_decision_on_a_paused_run_ends_although_tokens_are_held",
            "test_course::test_a_large_fan_out_of_a_paused_run_comes_to_rest",
            "test_sandbox::test_nothing_is_asked_of_a_sandbox_while_the_run_is_paused",
            "test_properties::test_no_pause_changes_the_output_the_state_or_the_paths",
            "test_course::test_pausing_twice_is_pausing_once",
            "test_sandbox::test_a_verdict_that_comes_while_paused_is_taken",
            "test_waves::test_a_pause_in_a_loop_loses_nothing",
        ),
    ),
    Rule(
        "life.3b",
        "Task time-outs, approval due times and the deadline keep running.",
        (
            "test_course::test_task_time_outs_keep_running_while_paused",
            "test_course::test_due_times_of_approvals_keep_running_while_paused",
            "test_course::test_the_deadline_keeps_running_while_paused",
        ),
    ),
    Rule(
        "life.3c",
        "Pause and resume cascade to children.",
        ("test_undo::test_pause_and_resume_cascade_to_children",),
    ),
    Rule(
        "life.3d",
        "Refused while compensating.",
        (
            "test_course::test_pause_is_refused_while_compensating",
            "test_course::test_a_paused_run_that_is_cancelled_is_undone_and_cannot_be_resumed",
            "test_course::test_a_run_that_closed_while_paused_stays_closed",
        ),
    ),
    Rule(
        "life.4a",
        (
            "Cancel and deadline: waiting tokens end at once, running tasks are told; results within the "
            "grace (30 s) are recorded, not routed; then forced."
        ),
        (
            "test_course::test_waiting_tokens_end_at_once",
            "test_course::test_running_tasks_and_children_are_told",
            "test_course::test_a_result_within_the_grace_is_recorded_and_not_routed",
            "test_course::test_a_failure_within_the_grace_is_not_tried_again",
            "test_course::test_after_the_grace_it_is_forced",
            "test_properties::test_every_cancelled_run_comes_to_an_end",
            "test_attempts::test_the_runs_deadline_ends_a_retry_that_is_still_waiting",
            "test_early::test_an_uncaught_failure_tells_every_worker",
            "test_sandbox::test_a_cancelled_run_does_not_wait_for_a_verdict",
            "test_course::test_a_result_for_a_run_that_is_over_changes_nothing",
        ),
    ),
    Rule(
        "life.4b",
        "Cancelling a token cancels what it waits for: task, timer, approval (withdrawn), child.",
        (
            "test_early::test_a_cancelled_siblings_task_is_cancelled",
            "test_early::test_a_cancelled_siblings_child_is_cancelled",
            "test_early::test_a_cancelled_siblings_approval_is_withdrawn",
            "test_early::test_a_cancelled_siblings_timers_are_dropped",
            "test_course::test_an_approval_of_a_cancelled_run_is_withdrawn",
            "test_early::test_a_branch_that_fails_tells_the_workers_of_the_rest",
        ),
    ),
    Rule(
        "life.4c",
        "A deadline gives `timed_out`, every other limit `failed`.",
        (
            "test_life::test_a_deadline_gives_timed_out",
            "test_course::test_every_limit_but_the_deadline_gives_failed_and_is_named",
        ),
    ),
    Rule(
        "life.4d",
        "Cancel during compensation is refused (`--force` stops it).",
        (
            "test_course::test_cancel_during_compensation_is_refused",
            "test_undo::test_force_stops_a_compensation",
        ),
    ),
    Rule(
        "life.5a",
        (
            "Limits (defaults): `max_hops` 10,000, `max_fanout` 10,000 (agent-driven 10), `max_tokens` "
            "100,000 open, `max_state_bytes` 1 MiB, `max_bytes` none, depth of children 16, 200 inline hops "
            "per decision (then the run continues by a command to itself)."
        ),
        (
            "test_course::test_the_limits_have_the_defaults_of_the_rules",
            "test_course::test_every_limit_but_the_deadline_gives_failed_and_is_named",
            "test_routes::test_an_agent_may_choose_ten_ways_and_no_more",
            "test_course::test_children_nest_no_deeper_than_their_limit",
            "test_course::test_a_fan_out_beyond_the_inline_hops_goes_on_by_a_command_to_itself",
            "test_failure::test_a_long_decision_yields_and_goes_on",
        ),
    ),
    Rule(
        "life.5b",
        "`parallelism: n` on a node or `foreach.max_parallel`: later tokens wait as `ready`, by branch index.",
        (
            "test_course::test_no_more_tokens_of_a_node_are_under_way_than_its_parallelism",
            "test_course::test_max_parallel_lets_the_next_branch_in_when_one_has_closed_however_it_did",
            "test_course::test_max_parallel_holds_branches_that_begin_with_no_work",
            "test_course::test_max_parallel_counts_branches_over_all_their_nodes",
            "test_course::test_parallelism_holds_for_what_is_no_task",
            "test_course::test_a_parked_token_that_is_retried_counts_for_its_nodes_parallelism",
            "test_course::test_a_pause_does_not_hold_a_token_twice",
        ),
    ),
    Rule(
        "life.6a",
        (
            "Signals: kept in order per name until consumed; a wait takes the oldest that satisfies `match`; "
            "of several waits the oldest token's; bounded (1,000), beyond → typed refusal."
        ),
        (
            "test_life::test_a_signal_sent_before_the_wait_is_kept_in_order",
            "test_course::test_of_several_waits_the_oldest_tokens_takes_the_signal",
            "test_course::test_a_wait_takes_the_oldest_signal_that_satisfies_its_match",
            "test_course::test_a_signal_goes_past_the_oldest_wait_that_it_does_not_satisfy",
            "test_course::test_signals_of_one_name_are_taken_in_order_by_later_waits",
            "test_course::test_a_match_may_read_what_the_run_knows",
            "test_course::test_signals_that_nobody_takes_are_bounded",
            "test_course::test_a_signal_to_a_closed_run_is_refused",
        ),
    ),
    Rule(
        "undo.1a",
        (
            "`compensate` (002: `compensator {action, timeout_sec, retry}` = a task of the node's own type "
            "with `config.action` replaced), recorded with its config at `node.completed`, so neither patch "
            "nor trimming can lose it."
        ),
        (
            "test_undo::test_a_compensation_is_the_nodes_own_task_with_another_action",
            "test_undo::test_a_compensation_is_recorded_with_its_config_when_the_node_completes",
            "test_seed_definitions::test_a_compensator_is_a_task_of_the_same_type_with_another_action",
        ),
    ),
    Rule(
        "undo.1b",
        "Input `{input, output, reason, error}`; own idempotency key.",
        (
            "test_undo::test_a_compensation_is_given_input_output_reason_and_error_under_a_key_of_its_own",
            "test_undo::test_a_late_answer_of_the_task_itself_is_not_one_of_its_compensation",
        ),
    ),
    Rule(
        "undo.2a",
        "`on: [failure, cancel]` by default (`timed_out` is a failure);",
        ("test_undo::test_the_outcome_decides_what_is_undone",),
    ),
    Rule(
        "undo.2b",
        "`manual` also on closed runs.",
        (
            "test_undo::test_what_is_manual_is_undone_when_somebody_asks_even_after_the_close",
            "test_undo::test_a_run_that_is_open_is_not_undone_by_hand",
            "test_undo::test_what_is_undone_once_is_not_undone_again",
        ),
    ),
    Rule(
        "undo.2c",
        "Only the run's outcome triggers it, not a caught failure.",
        (
            "test_undo::test_a_caught_failure_undoes_nothing",
            "test_undo::test_a_failure_that_only_a_branch_saw_undoes_nothing",
        ),
    ),
    Rule(
        "undo.3a",
        (
            "Starts after in-flight tasks settled or were forced; one at a time in reverse order of "
            "`node.completed` over all branches and iterations; a success recorded later is compensated next."
        ),
        (
            "test_undo::test_branches_are_undone_in_reverse_order_of_their_completion",
            "test_undo::test_it_starts_after_what_was_in_flight_has_settled_and_late_results_come_first",
            "test_undo::test_late_results_of_nested_branches_are_undone_in_the_order_they_came",
            "test_undo::test_it_starts_when_what_did_not_answer_was_forced",
            "test_undo::test_a_success_that_is_recorded_after_it_was_forced_is_undone_next",
            "test_undo::test_a_late_success_after_the_close_is_undone_all_the_same",
            "test_undo::test_loops_do_not_lose_what_earlier_turns_did",
            "test_life::test_a_failure_undoes_what_was_done_in_reverse_order",
            "test_undo::test_a_late_success_of_an_attempt_that_timed_out_is_undone_once",
        ),
    ),
    Rule(
        "undo.3b",
        "Its own deadline, not the run's.",
        (
            "test_undo::test_the_runs_deadline_does_not_end_a_compensation",
            "test_undo::test_a_compensation_that_never_answers_times_out",
            "test_undo::test_a_compensation_is_tried_again_by_its_own_policy",
        ),
    ),
    Rule(
        "undo.3c",
        "Cancelled or timed-out tasks of unknown outcome: `on_unknown: skip` (default, recorded) or `run`.",
        (
            "test_undo::test_a_task_of_unknown_outcome_is_skipped_or_undone",
            "test_undo::test_a_task_of_unknown_outcome_that_is_skipped_is_recorded",
            "test_undo::test_a_task_that_timed_out_has_an_unknown_outcome",
            "test_undo::test_an_attempt_that_timed_out_and_one_that_succeeded_are_undone_once",
        ),
    ),
    Rule(
        "undo.4a",
        (
            "A child that completed is one unit: its own `compensate` if the node has one, else the command "
            "`compensate` to the child, awaited."
        ),
        (
            "test_undo::test_a_completed_child_with_an_own_compensation_is_undone_by_it",
            "test_undo::test_a_child_that_completed_is_undone_as_one_unit_and_awaited",
            "test_undo::test_a_child_that_failed_has_undone_itself",
        ),
    ),
    Rule(
        "children.1a",
        (
            "`on_failure: propagate` (default): the node fails with `CHILD_FAILED {run_id, cause}`, catchable"
            " like any failure."
        ),
        (
            "test_life::test_a_failed_child_fails_its_node_with_its_cause",
            "test_undo::test_a_failed_child_is_caught_like_any_failure",
            "test_undo::test_the_details_of_a_failed_child_name_it",
        ),
    ),
    Rule(
        "children.1b",
        "`catch`: the node completes with `{status, error}`.",
        ("test_undo::test_a_caught_child_gives_its_status_and_error",),
    ),
    Rule(
        "children.1c",
        "Retry starts a new child run (`<parent>.<token>.<attempt>`).",
        (
            "test_undo::test_a_retry_starts_a_new_child",
            "test_undo::test_the_end_of_an_earlier_child_does_not_count_for_the_new_one",
            "test_undo::test_two_children_of_one_run_are_two_runs",
        ),
    ),
    Rule(
        "children.1d",
        "Deadline = the nearer of its own and the parent's.",
        (
            "test_undo::test_a_childs_deadline_is_the_nearer_of_its_own_and_its_parents",
            "test_undo::test_a_run_that_is_a_child_ends_at_the_nearer_deadline",
        ),
    ),
    Rule(
        "children.1e",
        "`standalone: false` in a definition refuses a direct start (000).",
        (
            "test_undo::test_a_workflow_that_is_only_a_child_refuses_a_direct_start",
            "test_undo::test_a_workflow_that_is_only_a_child_starts_as_one",
        ),
    ),
    Rule(
        "children.1f",
        "`inherit_artifacts: true` lets it read the parent's staged artifacts.",
        ("test_undo::test_a_child_reads_its_parents_staged_artifacts_if_it_may",),
    ),
    Rule(
        "children.1g",
        "Artifacts commit at outcome `completed`, else stay staged until retention.",
        (
            "test_undo::test_artifacts_are_committed_at_the_outcome_completed",
            "test_undo::test_artifacts_of_any_other_outcome_stay_staged",
        ),
    ),
    Rule(
        "patches.1a",
        (
            "**Every decision after `run.patched` uses the new revision**; an attempt already dispatched "
            "keeps its config; the next attempt and the routing of its token use the new one (002: the "
            "patching agent's own token is routed by its patch)."
        ),
        (
            "test_patches::test_every_decision_after_run_patched_uses_the_new_revision",
            "test_patches::test_the_token_of_the_agent_that_patches_is_routed_by_its_patch",
            "test_patches::test_an_attempt_already_dispatched_keeps_its_config",
            "test_patches::test_the_next_attempt_uses_the_new_config",
            "test_patches::test_an_attempt_keeps_its_config_through_a_second_patch",
        ),
    ),
    Rule(
        "patches.2a",
        (
            "Patch document: `{nodes: [...], edges: [...]}` (`edges` = `transitions`); a segment that is "
            "neither index nor `-` is looked up by id."
        ),
        ("test_patches::test_edges_are_transitions_and_are_named_by_id_or_by_their_ends",),
    ),
    Rule(
        "patches.2b",
        "`expected_revision` guards.",
        ("test_patches::test_expected_revision_guards",),
    ),
    Rule(
        "patches.3a",
        (
            "Refused: result does not validate; a removed node holds a token (running, waiting, ready, "
            "parked) or is the join target of an open group."
        ),
        (
            "test_patches::test_refused_if_the_result_does_not_validate_with_every_problem",
            "test_patches::test_trap_9_refused_if_a_removed_node_holds_a_token",
            "test_patches::test_refused_if_a_removed_node_holds_a_ready_token",
            "test_patches::test_refused_if_a_removed_node_is_the_join_target_of_an_open_group",
        ),
    ),
    Rule(
        "patches.3b",
        "Allowed with a warning: new nodes no open token can reach any more.",
        ("test_patches::test_a_new_node_that_no_open_token_can_reach_any_more_is_a_warning",),
    ),
    Rule(
        "patches.3c",
        "Open group instances keep the join settings they were opened with.",
        (
            "test_patches::test_open_group_instances_keep_the_join_settings_they_were_opened_with",
            "test_patches::test_a_group_opened_after_the_patch_has_the_new_settings",
        ),
    ),
    Rule(
        "patches.3d",
        "Revert = a patch back to an earlier revision, checked the same way.",
        (
            "test_patches::test_a_revert_is_a_patch_back_to_an_earlier_revision",
            "test_patches::test_a_revert_is_checked_like_a_patch",
        ),
    ),
    Rule(
        "patches.4a",
        (
            "`migration` node: `{from_version, to_version, transform}`; runs the transform as a task on "
            "`{input, state, nodes}`; then `run.migrated`; other open tokens must stand on nodes that exist "
            "in the new version, else it fails; the token goes on from the node of the same id, else from "
            "`resume_at`."
        ),
        (
            "test_migration::test_the_transform_runs_as_a_task_on_input_state_and_nodes",
            "test_migration::test_the_token_goes_on_from_the_node_of_the_same_id",
            "test_migration::test_the_token_goes_on_from_resume_at_where_the_new_version_has_no_such_node",
            "test_migration::test_neither_the_same_node_nor_one_to_resume_at_fails_it",
            "test_migration::test_other_open_tokens_must_stand_on_nodes_of_the_new_version",
            "test_migration::test_the_join_of_an_open_group_must_be_in_the_new_version",
            "test_migration::test_patches_are_left_behind_and_the_revision_counts_on",
        ),
    ),
    Rule(
        "counter.1a",
        "Op keys: `consume:<token>` -1 when a token leaves its node or its approval is requested;",
        (
            "test_counter::test_the_keys_of_a_diamond_are_those_of_the_seed",
            "test_counter::test_an_approval_that_leads_nowhere_is_not_consumed_again",
        ),
    ),
    Rule(
        "counter.1b",
        "`emit:<token>` or `emit:approval_<id>` +N; entries `emit:start` +N.",
        (
            "test_counter::test_a_decision_emits_what_follows_under_the_key_of_the_approval",
            "test_counter::test_two_entries_start_at_2",
            "test_counter::test_opening_ten_thousand_branches_is_one_operation",
        ),
    ),
    Rule(
        "counter.1c",
        "Waiting at a join does not consume (002 says both).",
        (
            "test_counter::test_a_named_join_counts_1_2_2_1_0",
            "test_counter::test_a_group_join_counts_1_2_2_1_0",
        ),
    ),
    Rule(
        "counter.1d",
        "A fired join consumes its arrivals and emits one.",
        (
            "test_counter::test_a_lost_race_is_consumed_with_its_join",
            "test_counter::test_arrivals_at_a_join_that_never_fires_are_consumed_with_their_group",
        ),
    ),
    Rule(
        "counter.1e",
        (
            "Values after each commit: A→B→C 1,1,1,0; A→(B,C)→D 1,2,2,1,0; A→approval→B 1, 0 with one "
            "pending, 1, 0; two entries start at 2."
        ),
        (
            "test_counter::test_a_sequence_counts_1_1_1_0",
            "test_counter::test_a_named_join_counts_1_2_2_1_0",
            "test_counter::test_an_approval_counts_1_then_0_with_one_pending_then_1_then_0",
            "test_counter::test_two_entries_start_at_2",
        ),
    ),
    Rule(
        "counter.1f",
        "The seed's step tables (consume at pick-up) are replayed on the bare op-key model, not on commits.",
        ("test_counter::test_the_seeds_tables_step_by_step",),
    ),
    Rule(
        "trap.1",
        "`foreach` over an empty list: the join completes at once with an empty merge.",
        (
            "test_joins::test_an_empty_group_is_decided_at_once",
            "test_groups::test_an_empty_group_inside_a_branch_is_joined_at_once_without_asking_its_condition",
        ),
    ),
    Rule(
        "trap.2",
        "Graph `foreach` over something that is not a list: typed error, not one branch.",
        ("test_joins::test_a_foreach_over_no_list_is_an_error_and_not_one_branch",),
    ),
    Rule(
        "trap.3",
        "A join reached again in the next loop iteration or inside a nested fan-out is a new instance.",
        (
            "test_joins::test_a_join_in_the_next_iteration_is_a_new_instance",
            "test_waves::test_each_turn_of_a_loop_is_joined_for_itself",
            "test_groups::test_a_fan_out_in_a_loop_is_joined_anew_and_late_results_of_the_turn_before_do_not_count",
        ),
    ),
    Rule(
        "trap.4",
        "`m_of_n` with too many failures ends, never hangs.",
        (
            "test_joins::test_a_join_counts_branches",
            "test_properties::test_every_run_comes_to_an_end",
        ),
    ),
    Rule(
        "trap.5",
        (
            "Late results, of a cancelled sibling, of a lost race, of an old attempt: recorded or ignored by "
            "rule, never applied."
        ),
        (
            "test_early::test_a_late_result_is_never_applied",
            "test_attempts::test_a_worker_that_died_is_replaced_under_the_same_key",
            "test_attempts::test_a_result_that_comes_with_the_last_attempts_timeout_is_ignored",
        ),
    ),
    Rule(
        "trap.6",
        "Two loop iterations sending from the same node are two arrivals.",
        (
            "test_named_joins::test_a_second_arrival_from_one_predecessor_starts_the_next_wave",
            "test_waves::test_each_turn_of_a_loop_is_joined_for_itself",
        ),
    ),
    Rule(
        "trap.7",
        (
            "Approval decided twice; decided after its timeout; timeout racing the decision: first recorded "
            "wins, the other gets a typed answer."
        ),
        (
            "test_life::test_an_approval_decided_twice_gets_a_typed_answer",
            "test_life::test_an_approval_decided_after_its_time_gets_a_typed_answer",
            "test_course::test_of_a_timeout_and_a_decision_the_first_wins_and_the_other_gets_a_typed_answer",
        ),
    ),
    Rule(
        "trap.8",
        "Approval pending while every token is consumed: the run is not complete.",
        (
            "test_joins::test_an_approval_keeps_its_branch_and_the_run_open",
            "test_course::test_a_run_is_not_complete_while_a_token_waits_for_anything",
        ),
    ),
    Rule(
        "trap.9",
        (
            "A patch that removes a node holding a token, or adds a statically unreachable node, or a cycle "
            "without a limit, is refused with the reason."
        ),
        (
            "test_patches::test_trap_9_a_patch_is_refused_with_the_reason",
            "test_patches::test_trap_9_refused_if_a_removed_node_holds_a_token",
        ),
    ),
    Rule(
        "trap.10",
        "History trimmed by a loop must not take compensation data with it.",
        ("test_undo::test_loops_do_not_lose_what_earlier_turns_did",),
    ),
    Rule(
        "trap.11",
        "Competing providers, race losers: cancelled if asked, recorded if late.",
        (
            "test_early::test_a_cancelled_siblings_task_is_cancelled",
            "test_early::test_a_late_success_counts_for_compensation_either_way",
        ),
    ),
    Rule(
        "trap.12",
        "A step whose outcome is unknown (worker died) is retried with the same idempotency key.",
        (
            "test_attempts::test_a_worker_that_died_is_replaced_under_the_same_key",
            "test_failure::test_a_retry_keeps_its_idempotency_key",
        ),
    ),
    Rule(
        "trap.13",
        "Metrics never carry `run_id` as a label.",
        part_5="metrics are written by services; a scrape of a running system shows their labels",
    ),
    Rule(
        "trap.14",
        "A sub-workflow that calls itself has a depth limit.",
        ("test_course::test_children_nest_no_deeper_than_their_limit",),
    ),
    Rule(
        "trap.15",
        "A run whose definition was deleted still runs: its version is content-addressed.",
        ("test_compile::test_the_hash_is_of_the_source_in_its_order",),
    ),
    Rule(
        "trap.16",
        (
            "A sibling that goes to a terminal node, ends on no match, or takes an error path: the join does "
            "not wait for it."
        ),
        (
            "test_groups::test_a_branch_that_ends_anywhere_else_is_not_waited_for",
            "test_joins::test_an_error_way_out_of_the_branch_is_not_waited_for",
        ),
    ),
    Rule(
        "trap.17",
        "A named join whose other predecessor was never chosen by a branch: decided at once, never a hang.",
        (
            "test_named_joins::test_a_predecessor_that_was_never_chosen_fails_it_at_once_and_is_named",
            "test_waves::test_whatever_ends_the_last_other_way_the_join_is_decided_at_once",
        ),
    ),
    Rule(
        "trap.18",
        "Two outer branches, each with an inner join on the same target: neither clobbers the other.",
        ("test_scopes::test_two_outer_branches_with_inner_joins_on_one_target_do_not_clobber_each_other",),
    ),
    Rule(
        "trap.19",
        "A payment that succeeds on the last allowed try is not refunded.",
        ("test_waves::test_a_payment_that_succeeds_on_its_last_try_is_not_refunded",),
    ),
)
