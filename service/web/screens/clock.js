/** How long the turn still lasts: the deadline against the service's time, so a phone's own clock does not matter. */

import { classes, Component, html } from "../html.js";
import { announce } from "../say.js";
import { words } from "../words.js";

const HURRY_SECONDS = 10;
const ROUND = 2 * Math.PI * 22;

export class Clock extends Component {
  constructor({ view }) {
    super();
    this.lasts = Date.parse(view.turn.deadline) - Date.parse(view.server_time);
    this.since = performance.now();
  }

  componentDidMount() {
    this.timer = setInterval(() => this.tick(), 250);
  }

  componentWillUnmount() {
    clearInterval(this.timer);
  }

  get left() {
    return Math.max(0, Math.ceil((this.lasts - (performance.now() - this.since)) / 1000));
  }

  tick() {
    if (this.props.isMine && this.left <= HURRY_SECONDS && !this.hurried && this.left > 0) {
      this.hurried = true;
      announce(words().hurry(this.left));
    }
    this.forceUpdate();
  }

  render() {
    const { left } = this;
    const share = Math.min(1, (1000 * left) / this.lasts);
    return html`<span class=${classes("clock", left <= HURRY_SECONDS && "hurry")}>
      <svg viewBox="0 0 48 48"><circle cx="24" cy="24" r="22" stroke-dasharray=${`${share * ROUND} ${ROUND}`} /></svg>
      <b>${left}</b>
    </span>`;
  }
}
