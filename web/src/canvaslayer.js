// A Leaflet layer that is one canvas over the whole map, painted on demand.
import L from "leaflet";

const sharpest = 2; // device pixels per CSS pixel; more costs and nobody sees it

export const CanvasLayer = L.Layer.extend({
  /** paint(ctx, map, size) draws in CSS pixels from the top left of the map. */
  initialize(paint, options) {
    this.paint = paint;
    L.setOptions(this, options);
  },

  onAdd(map) {
    this.canvas = L.DomUtil.create("canvas", "kith-canvas leaflet-zoom-animated");
    this.canvas.setAttribute("aria-hidden", "true");
    this.ctx = this.canvas.getContext("2d", { alpha: true });
    this.getPane().append(this.canvas);
    map.on("move resize viewreset zoomend moveend", this.redraw, this);
    map.on("zoomanim", this.onZoomAnim, this);
    this.redraw();
  },

  onRemove(map) {
    map.off("move resize viewreset zoomend moveend", this.redraw, this);
    map.off("zoomanim", this.onZoomAnim, this);
    this.canvas.remove();
  },

  // While Leaflet animates a zoom, the canvas is scaled with the map; what was
  // painted meanwhile would be in the wrong place.
  onZoomAnim(e) {
    this.zooming = true;
    const map = this._map;
    const topLeft = map._latLngBoundsToNewLayerBounds(map.getBounds(), e.zoom, e.center).min;
    L.DomUtil.setTransform(this.canvas, topLeft, map.getZoomScale(e.zoom));
    map.once("zoomend", () => {
      this.zooming = false;
      this.redraw();
    });
  },

  redraw() {
    if (this.zooming || !this._map) return;
    const size = this._map.getSize();
    const scale = Math.min(sharpest, window.devicePixelRatio || 1);
    const [w, h] = [Math.round(size.x * scale), Math.round(size.y * scale)];
    if (this.canvas.width !== w || this.canvas.height !== h) {
      this.canvas.width = w;
      this.canvas.height = h;
      this.canvas.style.width = `${size.x}px`;
      this.canvas.style.height = `${size.y}px`;
    }
    L.DomUtil.setPosition(this.canvas, this._map.containerPointToLayerPoint([0, 0]));
    this.ctx.setTransform(scale, 0, 0, scale, 0, 0);
    this.ctx.clearRect(0, 0, size.x, size.y);
    this.paint(this.ctx, this._map, size);
  },
});

/** Where a place is, from the top left of the map, to a fraction of a pixel. */
export function onMap(map, lat, lng) {
  return map.project([lat, lng]).subtract(map.getPixelOrigin()).add(map._getMapPanePos());
}
