//! The limits of one run, from those of the operator, of its language, of live
//! runs, and of the client.

use sandpiper_languages::Plan;

use crate::Limits;
use crate::options::LowerLimits;

/// The limits that hold for one run.
#[derive(Debug)]
pub(crate) struct EffectiveLimits {
    /// Those that the box, its launchers and compile artifacts depend on.
    pub(crate) of_box: Limits,
    /// Those of the steps. Memory and processes are as in `of_box`.
    pub(crate) of_steps: Limits,
}

impl EffectiveLimits {
    /// Returns the limits of a run of `plan`: the language's take the place of the
    /// operator's, and the client's count if they are lower.
    pub(crate) fn new(
        operator: &Limits,
        plan: &Plan,
        is_interactive: bool,
        lower: &LowerLimits,
    ) -> Self {
        let memory = plan.memory_bytes.unwrap_or(operator.memory_bytes);
        let of_box = Limits {
            memory_bytes: least(memory, lower.memory_bytes),
            output_bytes: plan.output_bytes.unwrap_or(operator.output_bytes),
            processes: plan.processes.unwrap_or(operator.processes),
            ..operator.clone()
        };
        let wall_time = if is_interactive {
            operator.live_wall_time
        } else {
            operator.run_wall_time
        };
        let of_steps = Limits {
            run_wall_time: least(wall_time, lower.wall_time),
            run_cpu_time: least(operator.run_cpu_time, lower.cpu_time),
            output_bytes: least(of_box.output_bytes, lower.output_bytes),
            ..of_box.clone()
        };
        Self { of_box, of_steps }
    }
}

fn least<T: Ord>(limit: T, wanted: Option<T>) -> T {
    match wanted {
        Some(wanted) => limit.min(wanted),
        None => limit,
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    /// Wall clock and CPU time in seconds, bytes of output and memory, processes.
    type Numbers = (u64, u64, u64, u64, u32);

    #[test]
    fn languages_replace_limits_and_clients_lower_them() {
        let seconds = Duration::from_secs;
        let operator = Limits {
            run_wall_time: seconds(10),
            live_wall_time: seconds(300),
            run_cpu_time: seconds(9),
            output_bytes: 80,
            memory_bytes: 70,
            processes: 60,
            ..Limits::default()
        };
        let plan = |output_bytes, memory_bytes, processes| Plan {
            output_bytes,
            memory_bytes,
            processes,
            ..Plan::default()
        };
        let all = |value| LowerLimits {
            wall_time: Some(seconds(value)),
            cpu_time: Some(seconds(value)),
            output_bytes: Some(value),
            memory_bytes: Some(value),
        };
        let check = |plan: &Plan,
                     is_interactive,
                     lower,
                     box_: Numbers,
                     steps| {
            let found =
                EffectiveLimits::new(&operator, plan, is_interactive, &lower);
            let numbers = |limits: &Limits| {
                (
                    limits.run_wall_time.as_secs(),
                    limits.run_cpu_time.as_secs(),
                    limits.output_bytes,
                    limits.memory_bytes,
                    limits.processes,
                )
            };
            assert_eq!(numbers(&found.of_box), box_);
            assert_eq!(numbers(&found.of_steps), steps);
        };
        let none = LowerLimits::default;
        let plain = plan(None, None, None);
        let own = plan(Some(800), Some(7), Some(6));
        let of_operator = (10, 9, 80, 70, 60);
        check(&plain, false, none(), of_operator, of_operator);
        check(&plain, true, none(), of_operator, (300, 9, 80, 70, 60));
        check(&own, false, none(), (10, 9, 800, 7, 6), (10, 9, 800, 7, 6));
        check(&own, true, all(1), (10, 9, 800, 1, 6), (1, 1, 1, 1, 6));
        // A client cannot raise a limit.
        check(&plain, false, all(1_000), of_operator, of_operator);
    }
}
